"""The problems of searchers_bench a second time, for searchers of others.

A problem asks a trial for its parameters by Optuna's names (suggest_float, suggest_int,
suggest_categorical) and computes the value of a configuration. optuna_search.py --check proves that
the values are those of the C++ program.
"""

from math import cos, e, exp, floor, log2, log10, nan, pi, sin, sqrt


class Problem:
    """`ask(trial)` gives a configuration, `value(config)` its value without noise, NaN if it has none."""

    def __init__(self, name, ask, value, noise=0.0, fails=lambda config: False, heldout=True):
        self.name, self.ask, self.value = name, ask, value
        self.noise, self.fails, self.heldout = noise, fails, heldout


def floats(count, low, high):
    return lambda t: {f"x{i}": t.suggest_float(f"x{i}", low, high) for i in range(count)}


def xs(config, count):
    return [config[f"x{i}"] for i in range(count)]


def branin(c):
    x0, x1 = xs(c, 2)
    return ((x1 - 5.1 / (4 * pi**2) * x0**2 + 5 / pi * x0 - 6) ** 2
            + 10 * (1 - 1 / (8 * pi)) * cos(x0) + 10)


def ask_branin(t):
    return {"x0": t.suggest_float("x0", -5, 10), "x1": t.suggest_float("x1", 0, 15)}


def hartmann(x, a, p):
    return -sum(c * exp(-sum(aj * (xj - 1e-4 * pj) ** 2 for aj, xj, pj in zip(ai, x, pi_)))
                for c, ai, pi_ in zip([1, 1.2, 3, 3.2], a, p))


A6 = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14],
      [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
P6 = [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
      [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]
A3 = [[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]]
P3 = [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]


def rosenbrock5(c):
    x = xs(c, 5)
    return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(4))


def ackley10_shift(c):
    z = [x - 0.3 * 32.768 * sin(i + 1) for i, x in enumerate(xs(c, 10))]
    return (-20 * exp(-0.2 * sqrt(sum(v * v for v in z) / 10))
            - exp(sum(cos(2 * pi * v) for v in z) / 10) + 20 + e)


def ask_mixed_flat(t):
    return {"lr": t.suggest_float("lr", 1e-6, 1, log=True),
            "wd": t.suggest_float("wd", 1e-8, 1e-1, log=True),
            "layers": t.suggest_int("layers", 1, 10),
            "units": t.suggest_int("units", 8, 1024, log=True),
            "dropout": t.suggest_float("dropout", 0, 0.8, step=0.05),
            "opt": t.suggest_categorical("opt", ["sgd", "momentum", "adam", "rmsprop"])}


def mixed_flat(c):
    b = {"sgd": -1, "momentum": -1.5, "adam": -3, "rmsprop": -3.5}[c["opt"]]
    penalty = {"sgd": 0.30, "momentum": 0.15, "adam": 0, "rmsprop": 0.10}[c["opt"]]
    a, u, n = log10(c["lr"]) - b, log2(c["units"]) - 7, c["layers"] - 4
    return (penalty + 0.20 * a**2 + 0.05 * (log10(c["wd"]) + 4 + 0.5 * a) ** 2 + 0.04 * n**2
            + 0.06 * (u + 0.5 * n) ** 2 + 2 * (c["dropout"] - 0.2) ** 2
            + 0.05 * (1 - cos(2 * pi * u)))


def ask_cond_tree(t):
    c = {"model": t.suggest_categorical("model", ["svm", "gbt", "mlp"])}
    if c["model"] == "svm":
        c["kernel"] = t.suggest_categorical("kernel", ["linear", "rbf"])
        c["C"] = t.suggest_float("C", 1e-3, 1e3, log=True)
        if c["kernel"] == "rbf":
            c["gamma"] = t.suggest_float("gamma", 1e-4, 1e1, log=True)
    elif c["model"] == "gbt":
        c["depth"] = t.suggest_int("depth", 2, 12)
        c["eta"] = t.suggest_float("eta", 1e-3, 1, log=True)
        c["n_est"] = t.suggest_int("n_est", 50, 1000, step=50)
    else:
        c["n_layers"] = t.suggest_int("n_layers", 1, 3)
        for i in range(c["n_layers"]):
            c[f"u{i}"] = t.suggest_int(f"u{i}", 16, 512, log=True)
        c["mlp_lr"] = t.suggest_float("mlp_lr", 1e-5, 1e-1, log=True)
    return c


def cond_tree(c):
    if c["model"] == "svm":
        if c["kernel"] == "linear":
            return 0.30 + 0.05 * log10(c["C"]) ** 2
        k = log10(c["C"]) - 1
        return 0.15 + 0.04 * k**2 + 0.08 * (log10(c["gamma"]) + 2 + 0.5 * k) ** 2
    if c["model"] == "gbt":
        g = log10(c["eta"]) + 1
        return (0.05 + 0.01 * (c["depth"] - 6) ** 2 + 0.25 * g**2
                + 0.10 * (log10(c["n_est"] / 400) + g) ** 2)
    return (0.30 * (log10(c["mlp_lr"]) + 3) ** 2 + {1: 0.20, 2: 0, 3: 0.10}[c["n_layers"]]
            + sum(0.05 * (log2(c[f"u{i}"]) - (7 - i)) ** 2 for i in range(c["n_layers"])))


def levy4(c):
    w = [1 + (x - 1) / 4 for x in xs(c, 4)]
    return (sin(pi * w[0]) ** 2
            + sum((v - 1) ** 2 * (1 + 10 * sin(pi * v + 1) ** 2) for v in w[:3])
            + (w[3] - 1) ** 2 * (1 + sin(2 * pi * w[3]) ** 2))


def griewank8_shift(c):
    z = [x - 180 * sin(i + 1) for i, x in enumerate(xs(c, 8))]
    product = 1.0
    for i, v in enumerate(z):
        product *= cos(v / sqrt(i + 1))
    return 1 + sum(v * v for v in z) / 4000 - product


def styblinski_tang5(c):
    return sum(x**4 - 16 * x**2 + 5 * x for x in xs(c, 5)) / 2


def int_sphere6(c):
    return sum((x - best) ** 2 for x, best in zip(xs(c, 6), [-37, 12, 0, 41, -8, 23]))


def steps5(c):
    centre = [3.3, -7.1, 11.9, 0.4, -14.2]
    return sum(floor(x - s + 0.5) ** 2 for x, s in zip(xs(c, 5), centre))


def ask_log_valley3(t):
    return {"a": t.suggest_float("a", 1e-6, 1e2, log=True),
            "b": t.suggest_float("b", 1e-6, 1e2, log=True),
            "c": t.suggest_float("c", 1e-3, 1e3, log=True)}


def log_valley3(c):
    u, v = log10(c["a"]) + 2, log10(c["b"]) + 1
    return 10 * (v - u * u) ** 2 + 0.1 * (1 - u) ** 2 + 0.2 * log10(c["c"]) ** 2


def ask_categories8(t):
    c = {f"c{i}": t.suggest_categorical(f"c{i}", ["a", "b", "c", "d"]) for i in range(8)}
    return c | {"x": t.suggest_float("x", 0, 1), "y": t.suggest_float("y", 0, 1)}


def categories8(c):
    level = ["abcd".index(c[f"c{i}"]) for i in range(8)]
    own = sum((3 * v * v + 5 * i * v + 2 * i) % 7 for i, v in enumerate(level)) / 7
    pairs = sum((3 * level[i - 1] + 5 * level[i] + i * level[i - 1] * level[i]) % 5
                for i in range(1, 8)) / 5
    return (own + 1.5 * pairs + 2 * (c["x"] - 0.1 - 0.25 * level[0]) ** 2
            + 2 * (c["y"] - 0.1 - 0.2 * level[7]) ** 2)


def ask_deep_tree(t):
    c = {"model": t.suggest_categorical("model", ["linear", "net"])}
    if c["model"] == "linear":
        c["penalty"] = t.suggest_categorical("penalty", ["l1", "l2"])
        c["alpha"] = t.suggest_float("alpha", 1e-5, 10, log=True)
        return c
    c["depth"] = t.suggest_int("depth", 1, 6)
    c["body"] = t.suggest_categorical("body", ["conv", "dense"])
    c["lr"] = t.suggest_float("lr", 1e-5, 1, log=True)
    if c["body"] == "conv":
        c["kernel"] = t.suggest_categorical("kernel", [3, 5, 7])
        return c
    c["width"] = t.suggest_int("width", 16, 1024, log=True)
    c["optimizer"] = t.suggest_categorical("optimizer", ["sgd", "adam"])
    if c["optimizer"] == "sgd":
        c["momentum"] = t.suggest_float("momentum", 0, 0.99)
    else:
        c["decay"] = t.suggest_float("decay", 1e-6, 1e-1, log=True)
    return c


def deep_tree(c):
    if c["model"] == "linear":
        if c["penalty"] == "l1":
            return 0.35 + 0.03 * (log10(c["alpha"]) + 3) ** 2
        return 0.30 + 0.03 * (log10(c["alpha"]) + 1) ** 2
    if c["body"] == "conv":
        return (0.08 + 0.02 * (c["depth"] - 3) ** 2 + 0.06 * (log10(c["lr"]) + 2) ** 2
                + 0.015 * (c["kernel"] - 3))
    w = log2(c["width"]) - 8
    value = (0.02 * (c["depth"] - 2) ** 2 + 0.01 * w * w
             + 0.05 * (log10(c["lr"]) + 3.5 + 0.3 * w) ** 2)
    if c["optimizer"] == "sgd":
        return value + 0.04 + 0.3 * (c["momentum"] - 0.9) ** 2
    return value + 0.02 * (log10(c["decay"]) + 4) ** 2


def ask_twin_tree(t):
    c = {"preparation": t.suggest_categorical("preparation", ["none", "pca", "select"])}
    if c["preparation"] == "pca":
        c["components"] = t.suggest_int("components", 2, 64, log=True)
    elif c["preparation"] == "select":
        c["share"] = t.suggest_float("share", 0.05, 1)
    c["model"] = t.suggest_categorical("model", ["knn", "forest", "logistic"])
    if c["model"] == "knn":
        c["k"] = t.suggest_int("k", 1, 100, log=True)
        c["weights"] = t.suggest_categorical("weights", ["uniform", "distance"])
    elif c["model"] == "forest":
        c["trees"] = t.suggest_int("trees", 50, 500, step=50)
        c["max_depth"] = t.suggest_int("max_depth", 2, 20)
    else:
        c["C"] = t.suggest_float("C", 1e-4, 1e4, log=True)
    return c


def twin_tree(c):
    preparation = c["preparation"]
    if preparation == "none":
        value = 0.12
    elif preparation == "pca":
        value = 0.02 * (log2(c["components"]) - 4) ** 2
    else:
        value = 0.05 + 0.3 * (c["share"] - 0.3) ** 2
    if c["model"] == "knn":
        return (value + 0.10 + 0.05 * (log2(c["k"]) - 3) ** 2
                + (0.04 if c["weights"] == "uniform" else 0)
                + (0 if preparation == "pca" else 0.10))
    if c["model"] == "forest":
        return (value + 0.06 + 0.004 * (c["max_depth"] - 10) ** 2
                + 0.05 * log10(c["trees"] / 300) ** 2 - (0.08 if preparation == "none" else 0))
    d = log10(c["C"]) - 1
    if preparation == "select":
        return value + 0.08 * (d + 2 * (c["share"] - 0.3)) ** 2
    return value + (0.15 if preparation == "pca" else 0.10) + 0.04 * d * d


def ask_failing_camel4(t):
    return {"x": t.suggest_float("x", -3, 3), "y": t.suggest_float("y", -2, 2),
            "z0": t.suggest_float("z0", -1, 1), "z1": t.suggest_float("z1", -1, 1)}


def failing_camel4(c):
    x, y = c["x"], c["y"]
    if -0.9 <= x < -0.3:
        return nan
    return ((4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (4 * y**2 - 4) * y**2
            + 0.5 * (c["z0"] - 0.3) ** 2 + 0.5 * (c["z1"] + 0.6) ** 2)


def sparse25(c):
    a, b = c["x13"], c["x21"]
    return (4 * (c["x2"] - 0.15) ** 2 + 2 * (c["x7"] - 0.7) ** 2 + 3 * (a + b - 1.1) ** 2
            + (a - b - 0.2) ** 2)


PROBLEMS = [
    Problem("branin", ask_branin, branin, heldout=False),
    Problem("hartmann6", floats(6, 0, 1), lambda c: hartmann(xs(c, 6), A6, P6), heldout=False),
    Problem("rosenbrock5", floats(5, -5, 10), rosenbrock5, heldout=False),
    Problem("ackley10_shift", floats(10, -32.768, 32.768), ackley10_shift, heldout=False),
    Problem("mixed_flat", ask_mixed_flat, mixed_flat, heldout=False),
    Problem("cond_tree", ask_cond_tree, cond_tree, heldout=False),
    Problem("levy4", floats(4, -10, 10), levy4),
    Problem("griewank8_shift", floats(8, -600, 600), griewank8_shift),
    Problem("styblinski_tang5", floats(5, -5, 5), styblinski_tang5),
    Problem("int_sphere6", lambda t: {f"x{i}": t.suggest_int(f"x{i}", -50, 50) for i in range(6)},
            int_sphere6),
    Problem("steps5", floats(5, -20, 20), steps5),
    Problem("log_valley3", ask_log_valley3, log_valley3),
    Problem("categories8", ask_categories8, categories8),
    Problem("noisy_hartmann3", floats(3, 0, 1), lambda c: hartmann(xs(c, 3), A3, P3), noise=0.2),
    Problem("deep_tree", ask_deep_tree, deep_tree),
    Problem("twin_tree", ask_twin_tree, twin_tree),
    Problem("failing_camel4", ask_failing_camel4, failing_camel4,
            fails=lambda c: 0.3 <= c["x"] < 0.9),
    Problem("sparse25", floats(25, 0, 1), sparse25),
]
