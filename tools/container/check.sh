#!/usr/bin/env bash
# Builds the image of Containerfile, and runs a sweep of three pods in containers of it. The base image is made from
# Debian's packages, as it cannot be pulled everywhere; it is larger than the published one. Needs root.
# check.sh BINARY FOLDER; 75: buildah, debootstrap or PyYAML is not installed, or there are no packages.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
binary=$(realpath "$1")
for program in buildah debootstrap; do
  command -v "$program" >/dev/null || { echo "$program is not installed"; exit 75; }
done
python3 -c 'import yaml' || exit 75
mkdir -p "$2"
cd "$2"
image() { buildah --storage-driver vfs --root "$PWD/store" --runroot "$PWD/running" "$@"; }

if [ ! -e base.tar ]; then
  debootstrap --variant=minbase trixie base || exit 75
  tar -C base -cf base.tar .
  rm -r base
fi
printf 'FROM scratch\nADD base.tar /\n' > Base
image bud --isolation chroot -t docker.io/library/debian:trixie-slim -f Base .
mkdir -p image
cp "$binary" image/rooflut
image bud --isolation chroot --pull-never -t rooflut -f "$here/Containerfile" image

# The pods' script, on a volume of their user.
rm -rf volume
install -d -o 65532 -g 65532 volume
sweep=(sweep --gpu 'h100,h200' --tp '1,2' --rate 1..60 --requests 2000)
"$binary" "${sweep[@]}" --out out.csv --shards 3 --submit kubernetes --job image=rooflut --job claim=volume --job memory=1Gi > job.yaml
script=$(python3 -c '
import yaml
job = yaml.safe_load(open("job.yaml"))
container = job["spec"]["template"]["spec"]["containers"][0]
# A manifest has "$$" where a shell has "$".
print(container["command"][2].replace("$$", "$"))')
pod() {
  local container
  container=$(image from --pull-never rooflut)
  image run --isolation chroot -v "$PWD/volume:/sweep" --env "JOB_COMPLETION_INDEX=$1" "$container" -- /bin/sh -c "$script"
  image rm "$container" >/dev/null
}
pods=()
for index in 0 1 2; do
  pod "$index" &
  pods+=($!)
done
for pod in "${pods[@]}"; do wait "$pod"; done
rm -f one.csv
"$binary" "${sweep[@]}" --out one.csv
cmp one.csv volume/out.csv
[ "$(stat -c %u volume/out.csv)" = 65532 ]
echo "three containers have written the bytes of one run"
