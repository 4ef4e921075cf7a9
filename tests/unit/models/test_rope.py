"""Rotary frequencies against the formulas, written again here, and against values recorded from another implementation.

The recorded values are what transformers 5.24.0's rope functions give in float32, so they hold to about 1e-6.
"""

import math

import pytest

from ignis.models.rope import (
    Llama3Scaling,
    YarnScaling,
    frequencies,
    scale_linear,
    scale_llama3,
    scale_yarn,
    yarn_scale,
)

LLAMA3 = Llama3Scaling(factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original_tokens=8192)
YARN = YarnScaling(factor=4.0, original_tokens=32768, beta_fast=32.0, beta_slow=1.0, is_truncated=True)

# Llama 3.2: theta 500,000, 64 dims, factor 32 over 8,192.
RECORDED_LLAMA3 = (
    1.0, 0.6636012196540833, 0.44036662578582764, 0.2922278046607971, 0.193922758102417, 0.12868738174438477,
    0.08539710193872452, 0.05666961893439293, 0.03760603070259094, 0.02495540864765644, 0.016560440883040428,
    0.010989529080688953, 0.00729266507551074, 0.00483942124992609, 0.0032114461064338684, 0.0012905480107292533,
    0.000429556705057621, 9.708286233944818e-05, 1.9461638657958247e-05, 1.2914768376504071e-05,
    8.570255886297673e-06, 5.687231805495685e-06, 3.7740544485131977e-06, 2.5044669200724456e-06,
    1.6619676443951903e-06, 1.1028836297555245e-06, 7.318749339901842e-07, 4.856731266045244e-07,
    3.2229328894572973e-07, 2.1387423032592778e-07, 1.4192720243499934e-07, 9.41830720080361e-08,
)  # fmt: skip

# Qwen3 with yarn: theta 1,000,000, 128 dims, factor 4 over 32,768.
RECORDED_YARN = (
    1.0, 0.8058422207832336, 0.6493816375732422, 0.5232990980148315, 0.4216965138912201, 0.33982083201408386,
    0.2738419771194458, 0.22067339718341827, 0.17782793939113617, 0.14330126345157623, 0.11547820270061493,
    0.09305720031261444, 0.07498941570520401, 0.0604296438395977, 0.04869675263762474, 0.03924189880490303,
    0.03162277862429619, 0.025482967495918274, 0.020535249263048172, 0.016548171639442444, 0.01333521492779255,
    0.010746078565716743, 0.00865964312106371, 0.006978305988013744, 0.005375321488827467, 0.004131738096475601,
    0.0031684227287769318, 0.002423422411084175, 0.0018482765881344676, 0.0014051124453544617, 0.001064361073076725,
    0.000802959781140089, 0.0006029411451891065, 0.0004503235686570406, 0.00033424055436626077,
    0.0002462583943270147, 0.00017984118312597275, 0.00012993148993700743, 9.262301318813115e-05,
    6.490394298452884e-05, 4.4456985051510856e-05, 3.582531280699186e-05, 2.886955189751461e-05,
    2.3264299670699984e-05, 1.8747356079984456e-05, 1.5107409126358107e-05, 1.2174188668723218e-05,
    9.8104746939498e-06, 7.905693564680405e-06, 6.37074253972969e-06, 5.133812464919174e-06, 4.137042651564116e-06,
    3.333803988425643e-06, 2.686519565031631e-06, 2.16491071114433e-06, 1.744576366036199e-06, 1.405853367941745e-06,
    1.1328959317324916e-06, 9.129353770731541e-07, 7.356818514381303e-07, 5.928434347879374e-07,
    4.777382400789065e-07, 3.8498163235090033e-07, 3.102344408034696e-07,
)  # fmt: skip

# theta 10,000, 16 dims, factor 8 over 256, betas 8 and 2, ends not rounded, mscale 0.7 over 0.3.
RECORDED_YARN_SMALL = (
    1.0, 0.3162277638912201, 0.05741269141435623, 0.0039528473280370235, 0.0012499999720603228,
    0.00039528473280370235, 0.0001250000059371814, 3.9528473280370235e-05,
)  # fmt: skip


def test_frequencies_are_powers_of_theta() -> None:
    assert frequencies(100.0, 4) == pytest.approx([1.0, 0.1])
    assert frequencies(10000.0, 8) == pytest.approx([1.0, 0.1, 0.01, 0.001])


def test_linear_scaling_divides() -> None:
    assert scale_linear([1.0, 0.5], 4.0) == [0.25, 0.125]


def test_llama3_scaling_has_the_recorded_values() -> None:
    assert scale_llama3(frequencies(500000.0, 64), LLAMA3) == pytest.approx(RECORDED_LLAMA3, rel=2e-6)


def test_llama3_scaling_is_told_by_the_wavelength() -> None:
    for before, after in zip(frequencies(500000.0, 64), scale_llama3(frequencies(500000.0, 64), LLAMA3), strict=True):
        wavelength = 2 * math.pi / before
        if wavelength > 8192 / 1.0:
            expected = before / 32.0
        elif wavelength < 8192 / 4.0:
            expected = before
        else:
            smooth = (8192 / wavelength - 1.0) / (4.0 - 1.0)
            expected = (1 - smooth) * before / 32.0 + smooth * before
        assert after == pytest.approx(expected, rel=1e-12)


def test_yarn_has_the_recorded_values() -> None:
    assert scale_yarn(frequencies(1000000.0, 128), 1000000.0, YARN) == pytest.approx(RECORDED_YARN, rel=2e-6)
    assert yarn_scale(4.0) == pytest.approx(1.138629436111989)


def test_yarn_takes_its_ends_as_they_are_where_told_to() -> None:
    small = YarnScaling(factor=8.0, original_tokens=256, beta_fast=8.0, beta_slow=2.0, is_truncated=False)
    assert scale_yarn(frequencies(10000.0, 16), 10000.0, small) == pytest.approx(RECORDED_YARN_SMALL, rel=2e-6)
    assert yarn_scale(8.0, 0.7) / yarn_scale(8.0, 0.3) == pytest.approx(1.0782934613857693)


def test_yarn_ramps_between_the_two_turns() -> None:
    def dim_of(turns: float) -> float:
        return 128 * math.log(32768 / (2 * math.pi * turns)) / (2 * math.log(1000000.0))

    low, high = math.floor(dim_of(32)), math.ceil(dim_of(1))
    base = frequencies(1000000.0, 128)
    for pair, after in enumerate(scale_yarn(base, 1000000.0, YARN)):
        ramp = min(max((pair - low) / (high - low), 0.0), 1.0)
        assert after == pytest.approx(base[pair] / 4 * ramp + base[pair] * (1 - ramp), rel=1e-12)


def test_yarn_survives_a_ramp_of_no_width() -> None:
    flat = YarnScaling(factor=4.0, original_tokens=1, beta_fast=32.0, beta_slow=32.0, is_truncated=True)
    assert all(map(math.isfinite, scale_yarn(frequencies(10000.0, 8), 10000.0, flat)))


def test_a_factor_of_one_keeps_the_temperature() -> None:
    assert yarn_scale(1.0) == 1.0
    assert yarn_scale(0.5) == 1.0
