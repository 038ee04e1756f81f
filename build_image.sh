#!/bin/sh
# Build the container image: `make image` calls it. It takes these variables:
#
#     IMAGE         name and tag of the image (default: policysched:VERSION)
#     BUILDER       docker, podman, buildah or nerdctl (default: the first that can build)
#     LOCK          the packages in the image: runtime (the default), tracing or karmada
#     PYTHON_IMAGE  another base image than that of the Dockerfile
set -eu

fail() {
    echo "no image was built: $*" >&2
    exit 1
}

print_version() {
    sed -n 's/^__version__ = "\(.*\)"$/\1/p' policysched/__init__.py
}

# The four programs have the command `info`, which fails if the program needs an engine and has none.
can_build() {
    "$1" info >/dev/null 2>&1
}

choose_builder() {
    idle=
    for name in docker podman buildah nerdctl; do
        command -v "$name" >/dev/null || continue
        if can_build "$name"; then
            echo "$name"
            return
        fi
        idle="${idle:+$idle, }$name"
    done
    [ -z "$idle" ] || fail "no engine answers $idle; start it (\`${idle##* } info\` shows the reason)," \
        "or install podman or buildah, which need none"
    fail "no container builder on PATH; install docker, podman, buildah or nerdctl," \
        "or name a program like these with BUILDER=PROGRAM"
}

check_builder() {
    command -v "$1" >/dev/null ||
        fail "BUILDER=$1 is no program on PATH; name docker, podman, buildah or nerdctl"
    can_build "$1" ||
        fail "no engine answers $1; start it (\`$1 info\` shows the reason), or name another BUILDER"
}

cd "$(dirname "$0")"
lock=${LOCK:-runtime}
case $lock in
runtime | tracing | karmada) ;;
*) fail "LOCK=$lock is unknown; use runtime, tracing or karmada" ;;
esac
image=${IMAGE:-policysched:$(print_version)}
if [ -n "${BUILDER:-}" ]; then
    check_builder "$BUILDER"
    builder=$BUILDER
else
    builder=$(choose_builder)
fi

echo "building $image with $builder"
exec "$builder" build --tag "$image" --build-arg "LOCK=$lock" \
    ${PYTHON_IMAGE:+--build-arg "PYTHON_IMAGE=$PYTHON_IMAGE"} .
