#!/bin/sh
# From nothing to a VVM: build.sh OUT TARGET [tiny]. Work is kept in OUT, and what is there is not made again.
# Training ends at a number of steps, so that a run can be repeated; the minutes are for machines that are too slow.
# On two cores: one process each, because threads that wait for one another cost more than they give.
set -e
out=$1 target=$2
limit= noise= decode="--steps 4000 --minutes 35" sound="--steps 600 --minutes 15" prosody="--steps 2500 --minutes 12"
[ "$3" = tiny ] && limit=2 noise=20 decode="--minutes 0.5" sound="--steps 5" prosody="--minutes 0.1"
koegumi="${BIN:-.venv/bin}/python" torch="${VOICE_BIN:-.venv-voice/bin}/python"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 ORT_DISABLE_TELEMETRY=1
mkdir -p "$out"

# Both, and a failure of either is one.
both() { wait "$1" && one=0 || one=$?; wait "$2" && other=0 || other=$?; [ "$one$other" = 00 ]; }

"$koegumi" -m models.build.speech "$out/speech" 0 2 $limit & one=$!
"$koegumi" -m models.build.speech "$out/speech" 1 2 $limit & other=$!
both $one $other
{
  "$torch" -m models.build.train_decode "$out/speech" "$out/envelopes.pt" $decode
  [ -f "$out/noise.npy" ] || "$torch" -m models.build.noise "$out/noise.npy" $noise
  "$torch" -m models.build.train_sound "$out/speech" "$out/envelopes.pt" "$out/noise.npy" "$out/decode.pt" $sound
} & one=$!
{
  [ -f "$out/prosody.jsonl" ] || "$koegumi" -m models.build.prosody "$out/prosody.jsonl" $limit
  "$torch" -m models.build.train_prosody "$out/prosody.jsonl" "$out/prosody.pt" $prosody
} & other=$!
both $one $other
"$torch" -m models.build.export "$out/speech" "$out/prosody.jsonl" "$out/noise.npy" "$out/decode.pt" "$out/prosody.pt" \
  "$out/onnx"
"$koegumi" -m models.build.package "$out/onnx" "$target"
