#include "fault_file_system.hpp"

#include <signal.h>
#include <sqlite3.h>

#include <new>
#include <optional>

namespace tune::test {
namespace {

using Fault = FaultFileSystem::Fault;

// SQLite's file system is a table of functions, so what they share is global.
struct Plan {
  std::optional<Fault> fault;
  std::int64_t operations_left = 0;
  bool has_struck = false;
};
Plan plan;
sqlite3_vfs* real_system = nullptr;
sqlite3_vfs fault_system{};

// A file of ours; that of the real system lies behind it in the same memory.
struct FaultFile {
  sqlite3_file base;
  sqlite3_file* real;
};

sqlite3_file* real_of(sqlite3_file* file) { return reinterpret_cast<FaultFile*>(file)->real; }

// What is wrong with this operation; SQLITE_OK: nothing. Before it dies, `half` is done.
template <class Half>
int strike(int io_error, Half half) {
  if (!plan.fault || --plan.operations_left > 0) return SQLITE_OK;
  if (plan.operations_left < 0 && plan.fault != Fault::disk_full_from_then_on) return SQLITE_OK;
  plan.has_struck = true;
  if (plan.fault == Fault::kill) {
    half();
    ::raise(SIGKILL);
  }
  return plan.fault == Fault::io_error ? io_error : SQLITE_FULL;
}

int fault_close(sqlite3_file* file) { return real_of(file)->pMethods->xClose(real_of(file)); }
int fault_read(sqlite3_file* file, void* out, int size, sqlite3_int64 at) {
  return real_of(file)->pMethods->xRead(real_of(file), out, size, at);
}
int fault_write(sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
  const auto write = [&](int bytes) {
    return real_of(file)->pMethods->xWrite(real_of(file), data, bytes, at);
  };
  if (const int status = strike(SQLITE_IOERR_WRITE, [&] { write(size / 2); })) return status;
  return write(size);
}
int fault_truncate(sqlite3_file* file, sqlite3_int64 size) {
  if (const int status = strike(SQLITE_IOERR_TRUNCATE, [] {})) return status;
  return real_of(file)->pMethods->xTruncate(real_of(file), size);
}
int fault_sync(sqlite3_file* /*file*/, int /*flags*/) {
  return strike(SQLITE_IOERR_FSYNC, [] {});
}
int fault_file_size(sqlite3_file* file, sqlite3_int64* size) {
  return real_of(file)->pMethods->xFileSize(real_of(file), size);
}
int fault_lock(sqlite3_file* file, int level) {
  return real_of(file)->pMethods->xLock(real_of(file), level);
}
int fault_unlock(sqlite3_file* file, int level) {
  return real_of(file)->pMethods->xUnlock(real_of(file), level);
}
int fault_check_lock(sqlite3_file* file, int* is_reserved) {
  return real_of(file)->pMethods->xCheckReservedLock(real_of(file), is_reserved);
}
int fault_control(sqlite3_file* file, int what, void* value) {
  return real_of(file)->pMethods->xFileControl(real_of(file), what, value);
}
int fault_sector_size(sqlite3_file* file) {
  return real_of(file)->pMethods->xSectorSize(real_of(file));
}
int fault_characteristics(sqlite3_file* file) {
  return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}
int fault_shm_map(sqlite3_file* file, int page, int size, int is_to_grow, void volatile** memory) {
  return real_of(file)->pMethods->xShmMap(real_of(file), page, size, is_to_grow, memory);
}
int fault_shm_lock(sqlite3_file* file, int offset, int count, int flags) {
  return real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);
}
void fault_shm_barrier(sqlite3_file* file) { real_of(file)->pMethods->xShmBarrier(real_of(file)); }
int fault_shm_unmap(sqlite3_file* file, int is_to_delete) {
  return real_of(file)->pMethods->xShmUnmap(real_of(file), is_to_delete);
}

constexpr sqlite3_io_methods fault_methods = {
    .iVersion = 2,
    .xClose = fault_close,
    .xRead = fault_read,
    .xWrite = fault_write,
    .xTruncate = fault_truncate,
    .xSync = fault_sync,
    .xFileSize = fault_file_size,
    .xLock = fault_lock,
    .xUnlock = fault_unlock,
    .xCheckReservedLock = fault_check_lock,
    .xFileControl = fault_control,
    .xSectorSize = fault_sector_size,
    .xDeviceCharacteristics = fault_characteristics,
    .xShmMap = fault_shm_map,
    .xShmLock = fault_shm_lock,
    .xShmBarrier = fault_shm_barrier,
    .xShmUnmap = fault_shm_unmap,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int fault_open(sqlite3_vfs* /*system*/, const char* name, sqlite3_file* file, int flags,
               int* flags_out) {
  auto* opened = new (file) FaultFile{};
  opened->real = reinterpret_cast<sqlite3_file*>(opened + 1);
  opened->real->pMethods = nullptr;
  const int status = real_system->xOpen(real_system, name, opened->real, flags, flags_out);
  opened->base.pMethods = opened->real->pMethods == nullptr ? nullptr : &fault_methods;
  return status;
}
int fault_delete(sqlite3_vfs* /*system*/, const char* name, int is_to_sync) {
  if (const int status = strike(SQLITE_IOERR_DELETE, [] {})) return status;
  return real_system->xDelete(real_system, name, is_to_sync);
}
int fault_access(sqlite3_vfs* /*system*/, const char* name, int flags, int* out) {
  return real_system->xAccess(real_system, name, flags, out);
}
int fault_full_path(sqlite3_vfs* /*system*/, const char* name, int size, char* out) {
  return real_system->xFullPathname(real_system, name, size, out);
}

}  // namespace

FaultFileSystem::FaultFileSystem() {
  real_system = sqlite3_vfs_find("unix");
  fault_system = *real_system;
  fault_system.pNext = nullptr;
  fault_system.zName = "fault";
  fault_system.szOsFile += static_cast<int>(sizeof(FaultFile));
  fault_system.xOpen = fault_open;
  fault_system.xDelete = fault_delete;
  fault_system.xAccess = fault_access;
  fault_system.xFullPathname = fault_full_path;
  sqlite3_vfs_register(&fault_system, 1);
  disarm();
}

FaultFileSystem::~FaultFileSystem() {
  sqlite3_vfs_unregister(&fault_system);
  sqlite3_vfs_register(real_system, 1);
}

void FaultFileSystem::arm(Fault fault, std::int64_t operation) {
  plan = {.fault = fault, .operations_left = operation};
}

void FaultFileSystem::disarm() { plan.fault.reset(); }

bool FaultFileSystem::has_struck() const { return plan.has_struck; }

}  // namespace tune::test
