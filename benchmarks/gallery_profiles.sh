#!/bin/sh
# What `kernelwright profile` says of every gallery problem's starter and best kernel, as text.
#
#     sh benchmarks/gallery_profiles.sh FOLDER [NAME ...]     writes FOLDER/NAME/starter.txt and best.txt
#
# The first timed case only. A GPU with Nsight Compute gives counters; without, the compiler's figures.
set -eu
folder=$1
shift
[ $# -gt 0 ] || set -- $(ls -d gallery/*/ | xargs -n 1 basename)
for name in "$@"; do
    mkdir -p "$folder/$name"
    case=$(python - "$name" <<'PY'
import runpy, sys
cases = runpy.run_path(f"gallery/{sys.argv[1]}/problem.py")["CASES"]
print(next(one["name"] for one in cases if not one.get("small") and not one.get("held_out")))
PY
)
    for kernel in starter best; do
        if [ -f "gallery/$name/$kernel.py" ]; then
            python -m kernelwright profile "gallery/$name" "gallery/$name/$kernel.py" --case "$case" \
                > "$folder/$name/$kernel.txt" || echo "$name $kernel: profile ended with status $?"
        fi
    done
done
