"""A checkpoint's folder to the folder that the engine opens: graphs, embeddings, numbers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from koegumi.voices.bark import coarse, semantic
from koegumi.voices.bark.checkpoint import Checkpoint
from koegumi.voices.bark.codec_graph import codebook_names, write_codec
from koegumi.voices.bark.embeddings import Embeddings
from koegumi.voices.bark.models import SHAPE, graph_path
from koegumi.voices.bark.nodes import GraphWriter, Precision
from koegumi.voices.bark.shape import Shape, read_shape
from koegumi.voices.bark.stack import heads_of_fine, write_causal, write_fine
from koegumi.voices.interface import Progress

SEMANTIC, COARSE, FINE = "semantic", "coarse_acoustics", "fine_acoustics"


def prepare(source: Path, target: Path, precisions: Sequence[Precision], progress: Progress) -> None:
    """Write what `Engine` opens into `target`, which gets its name when it is whole.

    `source` is in the hub's layout. Where `target` is there already only missing graphs are added. Processes that
    write the same target must be kept apart by the caller. Raises FileNotFoundError, ValueError: what is missing or
    cannot be read, by name.
    """
    shape = read_shape(source)
    checkpoint = Checkpoint(source)
    writer = _Writer(checkpoint, shape, progress)
    writer.require()
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f"new-{target.name}-", dir=target.parent))
    try:
        temporary.chmod(0o755)
        writer.graphs(temporary, [one for one in precisions if not _has(target, one)])
        if target.is_dir():
            for path in sorted(temporary.iterdir(), key=lambda path: path.suffix == ".onnx"):  # graphs last
                path.replace(target / path.name)
        else:
            writer.tables(temporary)
            temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def is_prepared(target: Path, precisions: Sequence[Precision]) -> bool:
    return (target / SHAPE).is_file() and all(_has(target, precision) for precision in precisions)


def _has(target: Path, precision: Precision) -> bool:
    return all(graph_path(target, stage, precision).is_file() for stage in ("semantic", "coarse", "fine", "codec"))


class _Writer:
    def __init__(self, checkpoint: Checkpoint, shape: Shape, progress: Progress) -> None:
        self._checkpoint, self._shape, self._progress = checkpoint, shape, progress

    def require(self) -> None:
        """Raise MissingTensors before anything is written."""
        shape = self._shape
        stacks = ((SEMANTIC, shape.semantic), (COARSE, shape.coarse), (FINE, shape.fine))
        for prefix, stack in stacks:
            names = [f"{prefix}.position_embeds_layer.weight", f"{prefix}.layernorm_final.weight"]
            parts = ("layernorm_1", "layernorm_2", "attn.att_proj", "attn.out_proj", "mlp.in_proj", "mlp.out_proj")
            names += [f"{prefix}.layers.{layer}.{part}.weight" for layer in range(stack.layers) for part in parts]
            if prefix == FINE:
                names += [f"{prefix}.input_embeds_layers.{n}.weight" for n in range(shape.fine_numbers.codebooks)]
            else:
                names += [f"{prefix}.input_embeds_layer.weight", f"{prefix}.lm_head.weight"]
            self._checkpoint.require(names)
        self._checkpoint.require(codebook_names(shape.fine_numbers.codebooks))

    def graphs(self, folder: Path, precisions: Sequence[Precision]) -> None:
        for precision in precisions:
            for stage, write in (("semantic", self._semantic), ("coarse", self._coarse), ("fine", self._fine)):
                self._write(folder, stage, precision, write)
        if precisions:
            self._write(folder, "codec", "fp32", lambda graph: write_codec(graph, self._checkpoint, self._shape.codec))

    def tables(self, folder: Path) -> None:
        self._progress("Bark: writing embeddings")
        get, codebooks = self._checkpoint.get, range(self._shape.fine_numbers.codebooks)
        for stage, prefix in (("semantic", SEMANTIC), ("coarse", COARSE)):
            table = get(f"{prefix}.input_embeds_layer.weight")
            Embeddings.save(folder, stage, table, get(f"{prefix}.position_embeds_layer.weight"))
        table = np.stack([get(f"{FINE}.input_embeds_layers.{number}.weight") for number in codebooks])
        Embeddings.save(folder, "fine", table, get(f"{FINE}.position_embeds_layer.weight"))
        table = np.stack([get(name) for name in codebook_names(len(codebooks))])
        Embeddings.save(folder, "codec", table, np.zeros((0, table.shape[2]), np.float32))
        self._shape.save(folder / SHAPE)

    def _write(self, folder: Path, stage: str, precision: Precision, write: Callable[[GraphWriter], None]) -> None:
        self._progress(f"Bark: writing the {stage} model, {precision}")
        with GraphWriter(graph_path(folder, stage, precision), precision) as graph:
            write(graph)
            graph.finish()

    def _semantic(self, graph: GraphWriter) -> None:
        rows = semantic.head_rows(self._shape.semantic_numbers)
        write_causal(graph, self._checkpoint, self._shape.semantic, SEMANTIC, rows)

    def _coarse(self, graph: GraphWriter) -> None:
        write_causal(graph, self._checkpoint, self._shape.coarse, COARSE, coarse.head_rows(self._shape))

    def _fine(self, graph: GraphWriter) -> None:
        stack, numbers = self._shape.fine, self._shape.fine_numbers
        heads = heads_of_fine(self._checkpoint, stack, FINE, numbers.codebooks, self._shape.codebook)
        write_fine(graph, self._checkpoint, stack, FINE, heads)
