# A server of programs, of the wheel that `make wheel` leaves; docs/service.md says how to run it.
FROM python:3.13-slim

RUN --mount=type=bind,source=target/wheels,target=/wheels \
    pip install --no-cache-dir --root-user-action ignore "$(ls /wheels/*.whl)[server]" \
    && useradd --system --uid 10001 --user-group --no-create-home cloakwork \
    && install --directory --owner cloakwork --group cloakwork --mode 0700 /data

# What is cached can be made anew.
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 XDG_CACHE_HOME=/tmp
USER 10001:10001
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --start-period=60s --timeout=15s \
    CMD ["python", "-m", "cloakwork.service.server.alive", "8765"]

ENTRYPOINT ["cloakwork", "serve", "/data", "--host", "0.0.0.0", "--port", "8765", "--token-file", "/data/tokens"]
# Behind a proxy that has the certificate: --behind-tls.
CMD ["--tls-cert", "/data/cert.pem", "--tls-key", "/data/cert.key"]
