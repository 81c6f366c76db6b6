# What ./quickstart and ./run_tests share: install what is missing, run a step quietly and show why
# it failed. Sourced from the repository's root.

# Packages of Debian 12 that the library, its example and their build need.
build_packages=(
  g++ cmake ninja-build ccache mold
  libcaf-dev nlohmann-json3-dev libeigen3-dev zlib1g-dev libboost-dev libboost-program-options-dev
  libsqlite3-dev libsqlitecpp-dev libxxhash-dev libssl-dev
  dataset-fashion-mnist
)

say() {
  printf '%s\n' "$*"
}

fail() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# show_cause <log>: the first errors in it and its end.
show_cause() {
  local errors
  errors=$(grep -nE -m 5 'error:|CMake Error|FAILED:|undefined reference|^E: ' "$1" || true)
  if [[ -n $errors ]]; then
    printf '%s\n' '--- first errors, with their line in the log' "$errors"
  fi
  printf '%s\n' "--- the end of $1"
  tail -n 30 "$1"
  printf '%s\n' '---'
}

# show_progress <text> <log>: on a terminal, the step's time so far and ninja's count.
show_progress() {
  local start=$SECONDS count
  while sleep 1 && kill -0 $$ 2>/dev/null; do
    count=$(tail -c 2000 "$2" 2>/dev/null | grep -oE '^\[[0-9]+/[0-9]+\]' | tail -n 1)
    printf '\r%s ... %s %d s ' "$1" "$count" $((SECONDS - start))
  done
}

# step <text> <log> <command>...: one line on the screen, all output in the log.
step() {
  local text=$1 log=$2 start=$SECONDS status=0 watcher=
  shift 2
  mkdir -p "$(dirname "$log")"
  : >"$log"
  printf '%s ...' "$text"
  if [[ -t 1 ]]; then
    show_progress "$text" "$log" &
    watcher=$!
  fi
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [[ -n $watcher ]]; then
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
    printf '\r\033[K%s ...' "$text"
  fi
  if ((status != 0)); then
    printf ' failed after %d s\n' $((SECONDS - start))
    show_cause "$log"
    fail "$text: exit status $status, all of it in $log"
  fi
  printf ' %d s\n' $((SECONDS - start))
}

is_installed() {
  [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

apt_install() {
  # An index that cannot be refreshed may still do: what is then missing, the second command says.
  "${as_root[@]}" apt-get update || true
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=120 install -y --no-install-recommends "$@"
}

# install_packages <package>...: does nothing, and needs neither root nor network, if all are there.
install_packages() {
  local package missing=()
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "This is no Debian system, so nothing is installed here. Needed are the equivalents of"
    say "  $*"
    say "(C++20, CMake 3.25, CAF 0.17.6). CMake will say what is missing."
    return
  fi
  for package in "$@"; do
    is_installed "$package" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    say "All packages are installed."
    return
  fi
  as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      fail "packages are missing and there is no sudo; as root, run: apt-get install ${missing[*]}"
    fi
    as_root=(sudo)
    if [[ -n ${CI:-} || ! -t 0 ]]; then
      as_root=(sudo -n)
    else
      say "Packages are missing; sudo may ask for your password."
      sudo -v || fail "no permission to install; as root, run: apt-get install ${missing[*]}"
    fi
  fi
  step "Installing ${missing[*]}" build/apt.log apt_install "${missing[@]}"
}

# How many compilers run at once: one a processor, and no more than memory holds, 1 GB each.
job_count() {
  local processors memory_gb
  processors=$(nproc)
  memory_gb=$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo)
  ((memory_gb >= 1)) || memory_gb=1
  echo $((processors < memory_gb ? processors : memory_gb))
}
