# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""How the keywords of other systems' rules are said in gradstep's options."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Options = dict[str, Any]
Rule = tuple[str, Options]


class Skip(Exception):
    """A case that gradstep does not reproduce. The text is the reason; none is a mistake."""


@dataclass
class Translation:
    """A case in gradstep's words."""

    rule: str
    options: Options
    of_one_axis: Rule | None = None  # what steps tensors of one axis or none, if that is another rule
    rate_of_one_axis: float = 1.0  # times the case's learning rate
    weight_rates: bool = False  # a step is weighted by the learning rate of the next one


def adam_options(hyper: Options, decay: float) -> Options:
    """AdamW's, of torch's keywords, with the source's own default decay."""
    beta1, beta2 = hyper.get("betas", (0.9, 0.999))
    return {
        "beta1": beta1,
        "beta2": beta2,
        "epsilon": hyper.get("eps", 1e-8),
        "weight_decay": hyper.get("weight_decay", decay),
        "decoupled_weight_decay": True,
    }


def lion_options(hyper: Options, decay: float) -> Options:
    beta1, beta2 = hyper.get("betas", (hyper.get("b1", 0.9), hyper.get("b2", 0.99)))
    return {"beta1": beta1, "beta2": beta2, "weight_decay": hyper.get("weight_decay", decay)}


def muon_torch(hyper: Options) -> Options:
    scales = {None: "shape", "original": "shape", "match_rms_adamw": "rms", "spectral_unclamped": "spectral"}
    options: Options = {
        "momentum": hyper.get("momentum", 0.95),
        "nesterov": hyper.get("nesterov", True),
        "weight_decay": hyper.get("weight_decay", 0.1),
        "iterations": hyper.get("ns_steps", 5),
        "epsilon": hyper.get("eps", 1e-7),
        "normalizer": "max",
        "step_scale": scales[hyper.get("adjust_lr_fn")],
    }
    return options | own_coefficients(hyper.get("ns_coefficients"))


def own_coefficients(three: list[float] | None) -> Options:
    if three is None:
        return {}
    a, b, c = three
    return {"coefficients": "own", "coefficient_a": a, "coefficient_b": b, "coefficient_c": c}


def muon_kellerjordan(hyper: Options) -> Options:
    return {"momentum": hyper.get("momentum", 0.95), "weight_decay": hyper.get("weight_decay", 0)}


def muon_moonlight(hyper: Options) -> Options:
    return {
        "momentum_form": "sum",
        "momentum": hyper.get("momentum", 0.95),
        "nesterov": hyper.get("nesterov", True),
        "weight_decay": hyper.get("weight_decay", 0.1),
        "iterations": hyper.get("ns_steps", 5),
        "step_scale": "rms",
    }


def muon_nvidia(hyper: Options) -> Options:
    scales = {"spectral": "largest", "shape_scaling": "shape", "unit_rms_norm": "spectral"}
    sets = {"polar_express": "polar_express_nvidia", "cubic5": "cubic"}
    coefficients = hyper.get("coefficient_type", "quintic")
    modes = {"decoupled": "decoupled", "independent": "independent", "l2": "coupled"}
    return {
        "momentum": hyper.get("momentum", 0.95),
        "nesterov": hyper.get("nesterov", False),
        "weight_decay": hyper.get("weight_decay", 0.01),
        "decay_mode": modes[hyper.get("weight_decay_method", "decoupled")],
        "coefficients": sets.get(coefficients, coefficients),
        "iterations": hyper.get("num_ns_steps", 5),
        "step_scale": scales[hyper.get("scale_mode", "spectral")],
        "scale_factor": hyper.get("extra_scale_factor", 1.0),
        "normalizer": "max",
        "epsilon": 1e-15,
    }


def muon_dion(hyper: Options) -> Options:
    scales = {"spectral_norm": "spectral", "rms_norm": "rms", None: "none"}
    is_polar = hyper.get("use_polar_express", True)
    return {
        "momentum_form": "sum",
        "momentum": hyper.get("momentum", hyper.get("mu", 0.95)),
        "nesterov": hyper.get("nesterov", False),
        "weight_decay": hyper.get("weight_decay", 0.01),
        "cautious_decay": hyper.get("cautious_wd", False),
        "coefficients": "polar_express" if is_polar else "quintic",
        "normalizer": "safe" if is_polar else "add",
        "epsilon": hyper.get("epsilon", 1e-8),
        "step_scale": scales[hyper.get("adjust_lr", "spectral_norm")],
    }


def muon_dion_reference(hyper: Options) -> Options:
    defaults = {"nesterov": True, "weight_decay": 0.1, "use_polar_express": False}
    return muon_dion(defaults | hyper) | {"coefficients": "simple", "iterations": hyper.get("ns_steps", 5)}


def normuon_dion(hyper: Options) -> Options:
    return muon_dion(hyper) | {"variance": "rows", "variance_beta": hyper.get("muon_beta2", 0.95)}


def normuon_kozistr(hyper: Options) -> Options:
    return muon_of_kozistr(hyper) | {"variance": "rows", "variance_beta": hyper.get("beta2", 0.95)}


def muon_of_kozistr(hyper: Options) -> Options:
    return {
        "momentum": hyper.get("momentum", 0.95),
        "nesterov": hyper.get("nesterov", True),
        "weight_decay": hyper.get("weight_decay", 0),
        "iterations": hyper.get("ns_steps", 5),
        "step_scale": "rms" if hyper.get("use_adjusted_lr") else "shape",
    }


def of_nvidia(variance: str, **options: Any) -> Callable[[Options], Options]:
    own = {"variance": variance} | options
    return lambda hyper: muon_nvidia(hyper) | own | given(hyper, variance_beta="beta2", variance_epsilon="eps")


def adamuon_kozistr(hyper: Options) -> Options:
    momentum, beta2 = hyper.get("betas", (0.9, 0.95))
    options = muon_of_kozistr({"use_adjusted_lr": True} | hyper | {"momentum": momentum, "nesterov": False})
    epsilon = {"variance_epsilon": hyper.get("eps", 1e-10)}
    return options | epsilon | {"variance": "elements", "variance_beta": beta2, "variance_length": "full"}


def muon_optax(hyper: Options) -> Options:
    for name in ("adaptive", "preconditioning"):
        if hyper.get(name):
            raise Skip(f"muon has no {name}={hyper[name]!r}")
    if isinstance(hyper.get("ns_coeffs"), str):
        raise Skip(f"muon has not the coefficients {hyper['ns_coeffs']!r}")
    rms = hyper.get("consistent_rms")
    return {
        "momentum_form": "corrected",
        "momentum": hyper.get("beta", 0.95),
        "nesterov": hyper.get("nesterov", True),
        "weight_decay": hyper.get("weight_decay", 0),
        "iterations": hyper.get("ns_steps", 5),
        "epsilon": hyper.get("eps", 1e-8),
        "step_scale": "kernel" if rms is None else "largest",
        "scale_factor": 1.0 if rms is None else rms,
    }


def cautious_adamw(hyper: Options) -> Options:
    return adam_options({"eps": 1e-6} | hyper, 0) | {"cautious_update": "mean"}


def cautious_adamw_loop(hyper: Options) -> Options:
    """Its epsilon joins sqrt(v) before the correction."""
    return cautious_adamw(hyper) | {"bias_correction": "tf"}


def lamb_optax(hyper: Options) -> Options:
    return {
        "beta1": hyper.get("b1", 0.9),
        "beta2": hyper.get("b2", 0.999),
        "epsilon": hyper.get("eps", 1e-6),
        "epsilon_root": hyper.get("eps_root", 0),
        "weight_decay": hyper.get("weight_decay", 0),
    }


def decay_meta(mode: str) -> Callable[[Options], Options]:
    def options(hyper: Options) -> Options:
        adam = adam_options({"betas": (0.9, 0.99)} | hyper, 0) | {"decay_mode": mode}
        return adam | ({"peak_learning_rate": hyper["lr"]} if mode in ("relative", "corrected") else {})

    return options


def agc(units: str, clip: str, epsilon: str) -> Callable[[Options], Options]:
    return lambda hyper: {
        "adaptive_clip": hyper.get(clip, 0.01),
        "adaptive_clip_epsilon": hyper.get(epsilon, 1e-3),
        "adaptive_clip_units": units,
    }


def dion_scalar(hyper: Options) -> Options:
    """Defaults of dion's rules for what is no matrix."""
    return {"betas": (0.9, 0.95)} | hyper


def torch_moments(hyper: Options, names: tuple[str, ...] = ("beta1", "beta2"), **defaults: Any) -> Options:
    """The options that torch's rules have in common, where they are given."""
    options: Options = dict(defaults)
    if "betas" in hyper:
        options |= dict(zip(names, hyper["betas"], strict=True))
    for theirs, ours in (("eps", "epsilon"), ("weight_decay", "weight_decay"), ("momentum_decay", "momentum_decay")):
        if theirs in hyper:
            options[ours] = hyper[theirs]
    return options


def optax_moments(hyper: Options, **defaults: Any) -> Options:
    """The options that optax's rules have in common, where they are given."""
    names = {
        "b1": "beta1",
        "b2": "beta2",
        "b3": "beta3",
        "eps": "epsilon",
        "eps_root": "epsilon_root",
        "alpha": "alpha",
        "threshold": "threshold",
        "weight_decay": "weight_decay",
    }
    return defaults | {ours: hyper[theirs] for theirs, ours in names.items() if theirs in hyper}


def nadamw_optax(hyper: Options) -> Options:
    return optax_moments(hyper, form="optax", decay_mode="decoupled", weight_decay=1e-4)


def adadelta(hyper: Options) -> Options:
    names = {"rho": "rho", "eps": "epsilon", "weight_decay": "weight_decay"}
    return {ours: hyper[theirs] for theirs, ours in names.items() if theirs in hyper}


def rprop(hyper: Options) -> Options:
    eta_minus, eta_plus = hyper.get("etas", (0.5, 1.2))
    minimum, maximum = hyper.get("step_sizes", (1e-6, 50))
    return {"eta_minus": eta_minus, "eta_plus": eta_plus, "minimum_step": minimum, "maximum_step": maximum}


def adan_kozistr(hyper: Options) -> Options:
    if hyper.get("weight_decay"):
        raise Skip("adan has no proximal decay, p / (1 + lr * weight_decay)")
    return torch_moments(hyper, ("beta1", "beta2", "beta3"))


def ademamix_kozistr(hyper: Options) -> Options:
    steps = hyper.get("t_alpha_beta3") or 0
    moments = torch_moments(hyper, ("beta1", "beta2", "beta3"))
    alpha = {"alpha": hyper["alpha"]} if "alpha" in hyper else {}
    return moments | alpha | {"alpha_steps": steps, "beta3_steps": steps, "decay_mode": "coupled"}


def ademamix_nvidia(hyper: Options) -> Options:
    moments = torch_moments(hyper, ("beta1", "beta2", "beta3"))
    steps = {"alpha_steps": hyper.get("aw") or 0, "beta3_steps": hyper.get("slow") or 0}
    return moments | steps | {"alpha": hyper.get("alpha", 2), "warmup": "half_life"}


def adopt_kozistr(hyper: Options) -> Options:
    mode = "decoupled" if hyper.get("weight_decouple") else "coupled"
    return torch_moments(hyper, clipping="pytorch_optimizer", decay_mode=mode)


def laprop(mode: str) -> Callable[[Options], Options]:
    """NVIDIA's kinds of decay."""
    peak = {"peak_learning_rate": 1.0} if mode == "corrected" else {}
    return lambda hyper: torch_moments(hyper, decay_mode=mode, epsilon=1e-8) | peak


def signum(hyper: Options) -> Options:
    options: Options = {"nesterov": hyper.get("nesterov", False), "momentum": hyper.get("beta", 0.9)}
    return options | ({"weight_decay": hyper["weight_decay"]} if "weight_decay" in hyper else {})


def given(hyper: Options, **names: str) -> Options:
    """What is given, under gradstep's names."""
    return {ours: hyper[theirs] for ours, theirs in names.items() if theirs in hyper}


def adafactor_torch(hyper: Options) -> Options:
    epsilon, least_scale = hyper.get("eps", (None, 1e-3))
    return given(hyper, clip_threshold="d", weight_decay="weight_decay") | {
        "decay_exponent": -hyper.get("beta2_decay", -0.8),
        "epsilon": 2.0**-23 if epsilon is None else epsilon,
        "least_scale": least_scale,
    }


def adafactor_optax(hyper: Options) -> Options:
    names = {"decay_exponent": "decay_rate", "min_factored": "min_dim_size_to_factor", "epsilon": "eps"}
    more = {"clip_threshold": "clipping_threshold", "momentum": "momentum", "weight_decay": "weight_decay_rate"}
    same = {"factored": "factored", "scales_by_parameter": "multiply_by_parameter_scale"}
    return {"form": "optax", "decay_mode": "independent"} | given(hyper, **names, **more, **same)


def dion(form: str) -> Callable[[Options], Options]:
    names = {"rank": "rank", "rank_fraction": "rank_fraction", "epsilon": "epsilon"}
    own = {"form": form, "weight_decay": 0.01}
    return lambda hyper: own | given(hyper, momentum="mu", weight_decay="weight_decay", **names)


def asgd(hyper: Options) -> Options:
    names = {"shrinkage": "lambd", "exponent": "alpha", "averaging_start": "t0", "weight_decay": "weight_decay"}
    return given(hyper, **names)


def lars(hyper: Options, **options: Any) -> Options:
    names = ("momentum", "trust_coefficient", "weight_decay")
    return options | given(hyper, epsilon="eps", **{name: name for name in names})


def sgd_of_vectors(hyper: Options) -> Rule:
    """LARS of pytorch_optimizer has neither its ratio nor its decay there."""
    return "sgd", {"momentum": hyper.get("momentum", 0.9)}


def mars(form: str) -> Callable[[Options], Options]:
    return lambda hyper: torch_moments(hyper, form=form) | given(hyper, gamma="gamma")


def adam_of_vectors(hyper: Options) -> Rule:
    """What MARS of pytorch_optimizer does with tensors of one axis."""
    beta1, beta2 = hyper.get("betas_1d", (0.9, 0.95))
    options = {"beta1": beta1, "beta2": beta2, "weight_decay": hyper.get("weight_decay_1d", 0.1)}
    return "adam", options | {"epsilon": hyper.get("eps", 1e-8), "decoupled_weight_decay": True}


def sophia(hyper: Options) -> Options:
    names = {"beta1": "b1", "epsilon": "eps", "weight_decay": "weight_decay"}
    return given(hyper, gamma="gamma", clip_threshold="clip_threshold", **names)


def schedule_free(inner: str, beta: str = "") -> Callable[[Options], Options]:
    def options(hyper: Options) -> Options:
        names = {"warmup_steps": "warmup_steps", "weight_power": "r", "rate_power": "weight_lr_power"}
        found = torch_moments(hyper) | optax_moments(hyper) | given(hyper, **names) | {"inner": inner}
        if beta in hyper:
            found["beta1"] = hyper[beta]
        if inner == "radam":
            found["waits"] = hyper.get("silent_sgd_phase", True)
        return found

    return options


def prodigy(hyper: Options) -> Options:
    names = {"d0": "d0", "d_factor": "d_coef", "d_growth": "growth_rate", "bias_correction": "use_bias_correction"}
    same = {"beta3": "beta3", "safeguard_warmup": "safeguard_warmup"}
    return torch_moments(hyper) | given(hyper, **names, **same)


def prodigy_optax(hyper: Options) -> Options:
    names = {"d0": "estim_lr0", "d_factor": "estim_lr_coef", "safeguard_warmup": "safeguard_warmup", "beta3": "beta3"}
    return torch_moments(hyper, bias_correction=True) | given(hyper, **names)


def dadapt(hyper: Options) -> Options:
    return torch_moments(hyper) | given(hyper, d0="d0", d_growth="growth_rate", bias_correction="bias_correction")


def dadapt_optax(hyper: Options) -> Options:
    return torch_moments(hyper, bias_correction=True) | given(hyper, d0="estim_lr0")


def meta_shampoo(grafts: bool) -> Callable[[Options], Options]:
    return lambda hyper: {name: hyper[name] for name in hyper if name != "lr"} | {"grafts": grafts}


def averaged(options: Options) -> Callable[[Options], Options]:
    """Plain SGD with an average of the weights."""

    def translated(hyper: Options) -> Options:
        if "start" in hyper:
            raise Skip("before its first average torch's AveragedModel holds the parameters that training began with")
        return options | given(hyper, average_decay="decay", average_every="every")

    return translated


def reason(text: str) -> Callable[[Options], Options]:
    def skip(_: Options) -> Options:
        raise Skip(text)

    return skip


def in_bf16(options_of: Callable[[Options], Options]) -> Callable[[Options], Options]:
    return lambda hyper: options_of(hyper) | {"product_precision": "bf16"}


# By the name of the file: gradstep's rule, and its options for the source's keywords.
RULES: dict[str, tuple[str, Callable[[Options], Options]]] = {
    "adabelief_nesterov_optax": ("adabelief", lambda hyper: optax_moments(hyper, nesterov=True)),
    "adabelief_optax": ("adabelief", optax_moments),
    "adadelta_torch": ("adadelta", adadelta),
    "adamax_optax": ("adamax", optax_moments),
    "adamax_torch": ("adamax", torch_moments),
    "adamaxw_optax": ("adamax", lambda hyper: optax_moments(hyper, decay_mode="decoupled", weight_decay=1e-4)),
    "adafactor_optax": ("adafactor", adafactor_optax),
    "adafactor_torch": ("adafactor", adafactor_torch),
    "adafactor_torch_f32": ("adafactor", adafactor_torch),
    "adafactor_unfactored_optax": ("adafactor", adafactor_optax),
    "adamuon_kozistr": ("muon", adamuon_kozistr),
    "adamuon_nvidia": ("muon", of_nvidia("elements", variance_length="free")),
    "adan_kozistr": ("adan", adan_kozistr),
    "adan_optax": ("adan", lambda hyper: optax_moments(hyper, form="optax", epsilon_root=1e-8)),
    "adanw_kozistr": ("adan", lambda hyper: torch_moments(hyper, ("beta1", "beta2", "beta3"))),
    "ademamix_kozistr": ("ademamix", ademamix_kozistr),
    "ademamix_nvidia": ("ademamix", ademamix_nvidia),
    "ademamix_optax": ("ademamix", optax_moments),
    "adopt_kozistr": ("adopt", adopt_kozistr),
    "adopt_nesterov_optax": ("adopt", lambda hyper: optax_moments(hyper, nesterov=True)),
    "adopt_noclip_optax": ("adopt", lambda hyper: optax_moments(hyper, clipping="none")),
    "adopt_optax": ("adopt", optax_moments),
    "agc_kozistr": ("sgd", agc("second", "agc_clip_val", "agc_eps")),
    "agc_optax": ("sgd", agc("columns", "clipping", "eps")),
    "cautious_adamw_coptim": ("adam", cautious_adamw_loop),
    "cautious_adamw_foreach_coptim": ("adam", cautious_adamw),
    "cautious_lion_coptim": ("lion", lambda hyper: lion_options(hyper, 0) | {"cautious_update": "sum"}),
    "cautious_lion_kozistr": ("lion", lambda hyper: lion_options(hyper, 0) | {"cautious_update": "sum"}),
    "cautious_wd_adamw_dion": ("adam", lambda hyper: adam_options(dion_scalar(hyper), 0.1) | {"cautious_decay": True}),
    "cautious_wd_lion_dion": ("lion", lambda hyper: lion_options(dion_scalar(hyper), 0.1) | {"cautious_decay": True}),
    "centralize_optax": ("sgd", lambda hyper: {"momentum": hyper.get("momentum", 0.9), "center_gradients": True}),
    "decay_decoupled_laprop_nvidia": ("laprop", laprop("decoupled")),
    "decay_independent_laprop_nvidia": ("laprop", laprop("independent")),
    "decay_l2_laprop_nvidia": ("laprop", laprop("coupled")),
    "decay_palm_laprop_nvidia": ("laprop", laprop("corrected")),
    "decay_corrected_meta": ("adam", decay_meta("corrected")),
    "decay_decoupled_meta": ("adam", decay_meta("decoupled")),
    "decay_independent_meta": ("adam", decay_meta("relative")),
    "decay_l2_meta": ("adam", decay_meta("coupled")),
    "asgd_torch": ("asgd", asgd),
    "dadapt_adam_kozistr": ("dadapt_adam", dadapt),
    "dadapt_adamw_optax": ("dadapt_adam", dadapt_optax),
    "dion_reference": ("dion", dion("reference")),
    "dion_simple": ("dion", dion("simple")),
    "ema_torch": ("sgd", averaged({"average_decay": 0.999})),
    "kl_shampoo_meta": ("meta_shampoo", meta_shampoo(grafts=True)),
    "kl_shampoo_nograft_meta": ("meta_shampoo", meta_shampoo(grafts=False)),
    "kl_soap_nvidia": ("shampoo", reason("statistics of KL do not go with eigenvalue_corrected")),
    "lamb_optax": ("lamb", lamb_optax),
    "lars_kozistr": ("lars", lambda hyper: lars(hyper, form="pytorch_optimizer")),
    "lars_nesterov_optax": ("lars", lambda hyper: lars(hyper, nesterov=True)),
    "lars_optax": ("lars", lars),
    "laprop_nvidia": ("laprop", torch_moments),
    "lion_optax": ("lion", lambda hyper: lion_options(hyper, 1e-3)),
    "mars_adamw_kozistr": ("mars", mars("adamw")),
    "mars_lion_kozistr": ("mars", mars("lion")),
    "muon_dion": ("muon", muon_dion),
    "muon_dion_reference": ("muon", muon_dion_reference),
    "muon_kellerjordan": ("muon", muon_kellerjordan),
    "muon_moonlight": ("muon", muon_moonlight),
    "muon_nvidia": ("muon", muon_nvidia),
    "muon_optax": ("muon", muon_optax),
    "muon_torch": ("muon", muon_torch),
    "normuon_dion": ("muon", normuon_dion),
    "normuon_kozistr": ("muon", normuon_kozistr),
    "normuon_nvidia": ("muon", of_nvidia("longer", variance_floor="max")),
    "nadam_optax": ("nadam", lambda hyper: optax_moments(hyper, form="optax")),
    "nadam_torch": ("nadam", torch_moments),
    "nadamw_optax": ("nadam", nadamw_optax),
    "nadamw_torch": ("nadam", lambda hyper: torch_moments(hyper, decay_mode="decoupled")),
    "novograd_optax": ("novograd", optax_moments),
    "prodigy_coupled_prodigyopt": ("prodigy", lambda hyper: prodigy(hyper) | {"decay_mode": "coupled"}),
    "prodigy_optax": ("prodigy", prodigy_optax),
    "prodigy_prodigyopt": ("prodigy", prodigy),
    "radam_nesterov_optax": ("radam", lambda hyper: optax_moments(hyper, form="optax", nesterov=True)),
    "radam_optax": ("radam", lambda hyper: optax_moments(hyper, form="optax")),
    "radam_torch": ("radam", torch_moments),
    "radamw_torch": ("radam", lambda hyper: torch_moments(hyper, decay_mode="decoupled")),
    "rprop_optax": ("rprop", reason("it applies the update of the step before; rprop is torch's")),
    "rprop_torch": ("rprop", rprop),
    "schedule_free_adamw": ("schedule_free", schedule_free("adamw")),
    "schedule_free_adamw_optax": ("schedule_free", schedule_free("adamw")),
    "schedule_free_radam": ("schedule_free", schedule_free("radam")),
    "schedule_free_sgd": ("schedule_free", schedule_free("sgd", "momentum")),
    "schedule_free_sgd_optax": ("schedule_free", schedule_free("sgd")),
    "signsgd_optax": ("signum", lambda _: {"momentum": 0}),
    "signum_nesterov_nvidia": ("signum", signum),
    "signum_optax": ("signum", signum),
    "signum_shape_scaled_nvidia": ("signum", reason("signum has no scale by the shape")),
    "sophia_optax": ("sophia", sophia),
    "swa_torch": ("sgd", averaged({"average_equal": True})),
    "yogi_optax": ("yogi", optax_moments),
}
# Rules of these systems as they are: their matrices are rounded.
RULES |= {f"{name}_bf16": (rule, in_bf16(options)) for name, (rule, options) in RULES.items() if rule == "muon"}

# What steps tensors of one axis, where that is another rule.
OF_ONE_AXIS: dict[str, Callable[[Options], Rule]] = {
    "lars_kozistr": sgd_of_vectors,
    "mars_adamw_kozistr": adam_of_vectors,
    "mars_lion_kozistr": adam_of_vectors,
}


def translate(name: str, meta: Options, case: Options) -> Translation:
    """The rule and its options, beside the learning rate."""
    if name not in RULES:
        raise Skip(f"no rule {meta.get('rule', name)!r}")
    rule, options_of = RULES[name]
    rates = case["lr"]
    hyper = {"lr": rates[0] if isinstance(rates, list) else rates} | case["hyper"]
    said = Translation(rule, options_of(hyper))
    if name in OF_ONE_AXIS:
        said.of_one_axis = OF_ONE_AXIS[name](hyper)
        said.rate_of_one_axis = hyper["lr_1d"] / hyper["lr"] if "lr_1d" in hyper else 1.0
    said.weight_rates = name.startswith("schedule_free") and name.endswith("optax") and isinstance(rates, list)
    return said
