# The image of policysched: `make image`, or
#   docker build --tag policysched:0.2.0 .
#
# The base image is pinned by its exact version. A digest pins it for good, and is known where images
# can be pulled:
#   docker build --build-arg PYTHON_IMAGE=python@sha256:... --tag policysched:0.2.0 .
# Everything installed on top of it is pinned by hash, in requirements/: `runtime.txt`, or with
#   docker build --build-arg LOCK=tracing --tag policysched:0.2.0 .
# `tracing.txt`, which also has what sends spans to OpenTelemetry, or with LOCK=karmada
# `karmada.txt`, which also has what asks the estimators of Karmada's member clusters.
ARG PYTHON_IMAGE=python:3.11.14-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
ARG LOCK=runtime
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
COPY requirements/runtime.txt requirements/tracing.txt requirements/karmada.txt \
     requirements/build.txt requirements/compiler.txt requirements/
RUN python -m venv --without-pip /opt/policysched \
 && pip --python /opt/policysched install --require-hashes --only-binary :all: \
      -r "requirements/${LOCK}.txt" \
 && pip install --require-hashes --only-binary :all: \
      -r requirements/build.txt -r requirements/compiler.txt
COPY . .
RUN CC="python -m ziglang cc -mcpu=baseline" POLICYSCHED_KERNELS=compiled \
    pip wheel --no-index --no-deps --no-build-isolation --wheel-dir /tmp/wheel . \
 && pip --python /opt/policysched install --no-index --no-deps /tmp/wheel/*.whl \
 && python -m compileall -q /opt/policysched/lib

FROM ${PYTHON_IMAGE}
LABEL org.opencontainers.image.title="policysched" \
      org.opencontainers.image.description="A Kubernetes scheduler whose behaviour is a policy file" \
      org.opencontainers.image.licenses="Apache-2.0"
# One thread decides; NumPy's own threads would only take memory, for each CPU of the node.
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 OPENBLAS_NUM_THREADS=1
COPY --from=build /opt/policysched /opt/policysched
ENV PATH=/opt/policysched/bin:$PATH
USER 65532:65532
EXPOSE 10259
ENTRYPOINT ["policysched"]
CMD ["run"]
