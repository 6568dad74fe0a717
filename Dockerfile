# One image for web, worker, beat and every command. It runs as a user without rights, on a read-only root
# file system with a /tmp in memory. To build on another base: docker build --build-arg BASE_IMAGE=…@sha256:… .
# `make pin-images` prints BASE_IMAGE with the digest that its tag has today.

ARG BASE_IMAGE=python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

FROM ${BASE_IMAGE} AS build
ENV UV_PYTHON_DOWNLOADS=never UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_PROJECT_ENVIRONMENT=/venv
WORKDIR /app
# The builder's package index and certificate authorities, if they aren't the public ones:
# docker build --secret id=pip.conf,src=… --secret id=uv.toml,src=… --secret id=certificates,src=… .
RUN --mount=type=secret,id=pip.conf,target=/etc/pip.conf \
    --mount=type=secret,id=certificates,target=/etc/ssl/certs/ca-certificates.crt \
    pip install --no-cache-dir uv==0.13.8
COPY pyproject.toml uv.lock ./
COPY clients/python/pyproject.toml clients/python/
# Translations are off (USE_I18N), and their catalogues are a fifth of the packages.
RUN --mount=type=secret,id=uv.toml,target=/etc/uv/uv.toml \
    --mount=type=secret,id=certificates,target=/etc/ssl/certs/ca-certificates.crt \
    uv sync --locked --no-default-groups --no-cache && \
    find /venv -type d -name LC_MESSAGES -prune -exec rm -r {} +
COPY . .
# Only collects files; the values are used for nothing, and none of them stays in the image. No process may write
# bytecode into the image later, so each would compile all modules at its start.
RUN ENVIRONMENT=production SECRET_KEY=0123456789abcdef0123456789abcdef0123456789abcdef01 \
    FIELD_ENCRYPTION_KEYS=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA= FINGERPRINT_KEY=build \
    DATABASE_URL=postgres://build@127.0.0.1/build PUBLIC_URL=https://build.example.com \
    /venv/bin/python manage.py collectstatic --no-input --skip-checks -v0 && \
    /venv/bin/python -m compileall -q . && \
    rm uv.lock clients/python/pyproject.toml

FROM ${BASE_IMAGE}
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin sluice
WORKDIR /app
# Packages change less often than our code, so they are a layer of their own.
COPY --from=build /venv /venv
COPY --from=build /app /app
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 ENVIRONMENT=production WEB_BIND=0.0.0.0:8000
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen(r.Request('http://127.0.0.1:8000/readyz', headers={'Host': 'localhost'}), timeout=4)"]
# Last, because they differ between builds of the same contents.
ARG REVISION
LABEL org.opencontainers.image.title="Sluice" \
    org.opencontainers.image.description="A payment service that merchants run themselves" \
    org.opencontainers.image.version="0.3.0" \
    org.opencontainers.image.revision="${REVISION}"
CMD ["gunicorn", "-c", "config/runtime/gunicorn.py", "config.wsgi"]
