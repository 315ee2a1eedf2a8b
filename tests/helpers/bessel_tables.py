"""Makes functorch_lite/prims/bessel_tables.py: `python tests/helpers/bessel_tables.py > functorch_lite/prims/bessel_tables.py` (mpmath needed)."""

import mpmath as mp

mp.mp.dps = 60
HEAD = '''"""Coefficients of Bessel and Airy functions: Chebyshev series, made by interpolation with 60 digits.

tests/helpers/bessel_tables.py makes them; prims/bessel.py says of which functions they are, and in which variable. Nothing is taken
from elsewhere. Each series ends where its terms fall below 2 ** -58 of the largest. Zeros are sums of two floats.
"""
'''


def series(f, n=60):
    """The Chebyshev coefficients (the first halved) of the interpolant of f on [-1, 1] at n points, without those that do not count."""
    angles = [mp.pi * (2 * k + 1) / (2 * n) for k in range(n)]
    values = [f(mp.cos(a)) for a in angles]
    out = [mp.mpf(2) / n * mp.fsum(v * mp.cos(j * a) for a, v in zip(angles, values)) for j in range(n)]
    out[0] /= 2
    while abs(out[-1]) < max(map(abs, out)) * mp.mpf(2) ** -58:
        out.pop()
    return out


def on(low, high, f):
    """f of a variable in [low, high], as a function on [-1, 1]."""
    return lambda t: f((mp.mpf(low) + high) / 2 + (mp.mpf(high) - low) / 2 * t)


def without_zeros(order):
    """J over its first two zeros and x ** order, in z = x²."""
    zeros = [mp.besseljzero(order, k) ** 2 for k in (1, 2)]

    def f(z):
        x = mp.sqrt(z)
        return mp.besselj(order, x) / x**order / mp.fprod(z - zero for zero in zeros)

    return f


def regular_part(order):
    """Y without its logarithm and pole, over x ** order, in z = x²."""

    def f(z):
        x = mp.sqrt(z)
        singular = mp.log(x) * mp.besselj(order, x) - (1 / x if order else 0)
        return (mp.bessely(order, x) - 2 / mp.pi * singular) / x**order

    return f


def bessel_modulus(order, part):
    """P, or x Q, of Hankel's expansion (DLMF 10.17), in w = (8 / x)²."""

    def f(w):
        x = 8 / mp.sqrt(max(w, mp.mpf(10) ** -12))
        u, scale = x - (2 * order + 1) * mp.pi / 4, mp.sqrt(mp.pi * x / 2)
        j, y = scale * mp.besselj(order, x), scale * mp.bessely(order, x)
        return j * mp.cos(u) + y * mp.sin(u) if part == "P" else x * (y * mp.cos(u) - j * mp.sin(u))

    return f


def decaying(order):
    """K without exp(-x) / sqrt(x), in 2 / x."""

    def f(w):
        x = 2 / w
        return mp.exp(x) * mp.sqrt(x) * mp.besselk(order, x)

    return f


def airy_decaying(s):
    """Ai without its exponential and power, in s = x ** -1.5 (DLMF 9.7)."""
    x = s ** (-mp.mpf(2) / 3)
    return mp.airyai(x) * mp.exp(2 * x**1.5 / 3) * x ** mp.mpf("0.25")


def airy_modulus(part):
    """P, or zeta Q, of Ai's expansion left of 0, in w = (8 / -x)³ (DLMF 9.7)."""

    def f(w):
        x = 8 / mp.cbrt(w)
        zeta = 2 * x**1.5 / 3
        u, scale = zeta - mp.pi / 4, mp.sqrt(mp.pi) * x ** mp.mpf("0.25")
        a, b = scale * mp.airyai(-x), scale * mp.airybi(-x)
        return a * mp.cos(u) - b * mp.sin(u) if part == "P" else zeta * (a * mp.sin(u) + b * mp.cos(u))

    return f


def main():
    print(HEAD)
    for order in (0, 1):
        zeros = [mp.besseljzero(order, k) for k in (1, 2)]
        print(f"J{order}_ZEROS = {tuple((float(z), float(z - float(z))) for z in zeros)}")
    tables = {f"J{n}": series(on(0, 64, without_zeros(n)), 40) for n in (0, 1)}
    tables |= {f"Y{n}": series(on(0, 64, regular_part(n)), 40) for n in (0, 1)}
    tables |= {f"{part}{n}": series(on(0, 1, bessel_modulus(n, part))) for n in (0, 1) for part in "PQ"}
    tables |= {f"K{n}": series(on(0, 1, decaying(n))) for n in (0, 1)}
    tables |= {
        "AI_LEFT": series(on(-8, -3, mp.airyai)),
        "AI_MIDDLE": series(on(-3, 1, mp.airyai)),
        "AI_RIGHT": series(on(0, 1, airy_decaying), 80),
    }
    tables |= {f"AI_{part}": series(on(0, 1, airy_modulus(part)), 40) for part in "PQ"}
    for name, coefficients in tables.items():
        print(f"{name} = (\n" + "".join(f"    {float(c)!r},\n" for c in coefficients) + ")")


if __name__ == "__main__":
    main()
