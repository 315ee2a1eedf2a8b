"""What a jitted function becomes, to look at: graph, StableHLO, optimized HLO, memory."""

from __future__ import annotations


class Lowered:
    """A traced program with its arguments' shapes: `.graph`, `.stablehlo()`, `.compile()`.

    >>> import functorch_lite as fl
    >>> lowered = fl.jit(lambda x: x * 2.0).lower(fl.ones(3))
    >>> "stablehlo.multiply" in lowered.stablehlo(), lowered.compile()(fl.ones(3)).tolist()
    (True, [2.0, 2.0, 2.0])
    """

    def __init__(self, jitted, program):
        self._jitted, self._program = jitted, program

    @property
    def graph(self):
        """The op-level program, an `fl.fx.Graph`."""
        return self._program.body.graph

    def stablehlo(self) -> str:
        """The program as XLA gets it."""
        return self._program.body.stages()[0].as_text()

    as_text = stablehlo  # jax's name

    def compile(self) -> Compiled:
        """The executable."""
        return Compiled(self._jitted, self._program, *self._program.body.stages()[1:])

    def __repr__(self) -> str:
        return f"<lowered {self._program.body.label}: {len(self.graph.nodes)} nodes>"


class Compiled:
    """An executable for one set of shapes: call it, or look at its text and memory."""

    def __init__(self, jitted, program, compiled, run):
        self._jitted, self._program, self._compiled, self._run = jitted, program, compiled, run

    def __call__(self, *args, **kwargs):
        program, operands = self._jitted.resolve(args, kwargs)
        if program.body is not self._program.body:
            raise TypeError(
                f"{self._program.body.label}: compiled for {list(self._program.body.ins)}, called with {list(program.body.ins)}; "
                "call the jitted function, which compiles for both"
            )
        return program.result(self._run(operands))

    def hlo(self) -> str:
        """The optimized HLO."""
        return self._compiled.as_text()

    as_text = hlo  # jax's name

    def memory(self) -> dict[str, int]:
        """Bytes as XLA plans them: 'arguments', 'outputs', 'temporaries' (what the program holds besides those)."""
        m = self._compiled.memory_analysis()
        return {"arguments": m.argument_size_in_bytes, "outputs": m.output_size_in_bytes, "temporaries": m.temp_size_in_bytes}

    def __repr__(self) -> str:
        return f"<compiled {self._program.body.label}>"
