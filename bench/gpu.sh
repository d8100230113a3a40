#!/usr/bin/env bash
# Every GPU number of this project in one go: tests, decoding speed, the tree, the bench, the machine.
# Needs CUDA, torch, and the packages of the extra `decode` on the path. Usage: bench/gpu.sh RESULTS
set -u
out=${1:?usage: bench/gpu.sh RESULTS}
mkdir -p "$out"
export PYTHONPATH=src${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
step() { # name, limit in seconds, command
    echo "== $1"
    timeout "$2" "${@:3}" > "$out/$1" 2> "$out/$1.err" || { echo "failed ($?)"; tail -n 25 "$out/$1.err" "$out/$1"; }
}
step tree.jsonl 60 python3 bench/tree_speed.py
step decode-float32.json 100 python3 bench/decode_speed.py --device cuda
step few-rows.jsonl 60 python3 bench/few_rows_speed.py
step bench-float32.txt 150 python3 -m surefoot bench --device cuda --max-tokens 128 --out "$out/run" \
    --strategies plain,dflash,ddtree:15,ddtree:32,ddtree:64,ddtree:128
step decode-bfloat16.json 60 python3 bench/decode_speed.py --device cuda --dtype bfloat16
step gpu-tests.txt 90 python3 -m pytest -q -p no:cacheprovider -m gpu tests/decoding/test_device_tree.py tests/decoding/test_graph_decoder.py tests/decoding/test_few_rows.py
step machine.txt 30 python3 -m surefoot probe -o "$out/machine.json"
cat "$out/tree.jsonl" "$out/bench-float32.txt" "$out/decode-float32.json" "$out/decode-bfloat16.json"
tail -n 5 "$out/gpu-tests.txt"
