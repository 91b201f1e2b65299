# The image of `mockserver serve`: the wheel of this checkout in an environment of its own, without build tools.
# Build: docker build -t mockserver .
ARG PYTHON=3.13

FROM python:${PYTHON}-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY docs docs
COPY schemas schemas
COPY scenarios scenarios
COPY mockserver mockserver
RUN python -m venv /opt/mockserver \
    && python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
    && /opt/mockserver/bin/pip install --no-cache-dir --constraint constraints.txt /wheels/*.whl

FROM python:${PYTHON}-slim
LABEL org.opencontainers.image.title="mockserver" \
      org.opencontainers.image.description="A stateful contract mock of a CRM gateway's HTTP API." \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /opt/mockserver /opt/mockserver
# Settings are environment variables; a container listens on every address, so that a token and limits are on.
ENV PATH=/opt/mockserver/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MOCKSERVER_HOST=0.0.0.0 \
    MOCKSERVER_PORT=5055
# A number, so that an orchestrator can see that it is not root.
USER 10001:10001
EXPOSE 5055
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=6s --start-period=20s --retries=3 CMD ["mockserver", "health"]
ENTRYPOINT ["mockserver"]
CMD ["serve"]
