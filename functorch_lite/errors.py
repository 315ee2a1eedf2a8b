"""Every exception of the library's own. Each docstring has the cause, a small example, and the way out.

Where PyTorch or Python has a type for a mistake (IndexError, TypeError, ValueError, RuntimeError ...) that type is raised;
the classes here refine those types for mistakes that only a transform library knows.
"""

from __future__ import annotations


class LeakedValueError(RuntimeError):
    """A traced value was used after the transform that made it had ended.

    Inside ``grad``, ``vmap``, ``jit`` and their like, f sees traced values: stand-ins that mean something only while
    the transform runs. Keeping one in a list, an attribute or a global lets it outlive its meaning:

    >>> import functorch_lite as fl
    >>> kept = []
    >>> _ = fl.grad(lambda x: kept.append(x * 2) or x * x)(3.0)
    >>> kept[0] + 1
    Traceback (most recent call last):
    ...
    functorch_lite.errors.LeakedValueError: ...

    **Fix**: return the value as an output of f (with ``has_aux=True`` for ``grad``).
    """


class ConcretizationError(RuntimeError, TypeError):
    """Python asked for the number inside a value that has none yet (``if x > 0``, ``float(x)``, ``range(n)``, ``np.asarray(x)``).

    Under ``jit`` and ``make_fx`` a value stands for all values of its shape; under ``vmap`` for a whole batch.

    >>> import functorch_lite as fl
    >>> fl.jit(lambda x: x if x > 0 else -x)(1.0)
    Traceback (most recent call last):
    ...
    functorch_lite.errors.ConcretizationError: ...

    **Fix**: choose with ``fl.where(x > 0, x, -x)`` or ``fl.cond(x > 0, f, g, x)``, loop with ``fl.while_loop`` or
    ``fl.scan``, or make the argument static (``fl.jit(f, static_argnums=...)``).
    """


class TraceError(ValueError):
    """A shape or a dtype was asked for while tracing without example inputs (`fl.fx.symbolic_trace`).

    >>> import functorch_lite as fl
    >>> fl.fx.symbolic_trace(lambda x: x * x.shape[0])
    Traceback (most recent call last):
    ...
    functorch_lite.errors.TraceError: ...

    **Fix**: trace with example inputs (``fl.make_fx(f)(x)``), or keep the part that asks one call with ``fl.fx.wrap``.
    """


class MissingRuleError(NotImplementedError):
    """A transform asked an op for a rule that it does not have.

    The message names the op, the rule, the file of its declaration, and the constructor that would derive the rule. An op
    declared as ``prim("twice", "x: Tensor", impl=..., meta=...)`` alone has a value and no derivative::

        fl.grad(twice)(1.0)   # MissingRuleError: prims.twice has no jvp rule. It is declared in ...

    **Fix**: declare the op with that constructor, or write the rule beside it.
    """


class NonDifferentiableError(RuntimeError):
    """A gradient was asked of something that has none: an integer argument, or reverse mode through ``while_loop``.

    >>> import functorch_lite as fl
    >>> fl.grad(lambda n: n * 1.0)(3)
    Traceback (most recent call last):
    ...
    functorch_lite.errors.NonDifferentiableError: ...

    **Fix**: pass a float, or use ``fl.scan`` or ``fl.fori_loop`` with a static count.
    """


class DtypeError(RuntimeError, TypeError):
    """An op was given a dtype that it is not for: a complex number to `lt`, a float to `bitwise_and`.

    PyTorch's error for this is a RuntimeError ("not implemented for 'ComplexFloat'"), Python's and NumPy's a TypeError; this is both.

    >>> import functorch_lite as fl
    >>> fl.bitwise_and(fl.ones(2), fl.ones(2))
    Traceback (most recent call last):
    ...
    functorch_lite.errors.DtypeError: ...

    **Fix**: convert with ``.to(dtype)``, or take the part that is meant (``fl.real``, ``fl.abs``).
    """


class TreeMismatchError(ValueError):
    """Two pytrees that must have one structure do not. The message names the path of the first difference and both types.

    >>> import functorch_lite as fl
    >>> fl.jvp(lambda p: p["w"], ({"w": 1.0},), ({"v": 1.0},))
    Traceback (most recent call last):
    ...
    functorch_lite.errors.TreeMismatchError: ...

    **Fix**: give both the same containers and keys (``fl.tree.map`` over the one makes a tree like it), or None for a whole
    subtree where None means zero.
    """


class SharedStorageError(RuntimeError):
    """Two arguments of a transformed function share their storage, and the function changes one of them in place::

        x = torch.zeros(4)
        fl.vmap(lambda a, b: a.add_(b))(x, x)     # b would have had to change too

    **Fix**: pass the tensor once and take views of it inside, or pass a ``clone()``.
    """


class GraphBreak(RuntimeError):
    """A function was compiled with ``fullgraph=True`` that cannot be one program: it reads a value, or has side effects in Python::

        @torch.compile(fullgraph=True)
        def step(x):
            loss = model(x).sum()
            if loss > 10:         # GraphBreak: which branch is taken is known only when the program runs
                loss = loss / 2
            return loss

    **Fix**: choose inside the program (``torch.where(loss > 10, loss / 2, loss)``, ``fl.cond``), and return values instead of
    printing or storing them; or leave ``fullgraph`` out, and the function runs as it is written.
    """


class DonatedBufferError(RuntimeError):
    """An Array was used whose buffer had been given away by ``donate_argnums``::

        step = fl.jit(lambda state, g: state - g, donate_argnums=0)
        new = step(state, g)
        state + 1             # DonatedBufferError: state's memory holds `new` now

    **Fix**: use the result instead of the argument, or leave that argument out of ``donate_argnums``.
    """


class LinAlgError(RuntimeError):
    """A matrix is not what a factorization needs: not positive-definite, singular, or with entries that are not finite.

    >>> import functorch_lite as fl
    >>> fl.linalg.cholesky(fl.asarray([[1.0, 2.0], [2.0, 1.0]]))
    Traceback (most recent call last):
    ...
    functorch_lite.errors.LinAlgError: ...

    **Fix**: look at the eigenvalues (``fl.linalg.eigvalsh``); adding a little to the diagonal makes a covariance matrix that
    rounding has spoilt positive-definite again.
    """
