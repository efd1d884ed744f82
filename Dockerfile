# The server with its console. Build it in the root of the repository: docker build --tag holdpoint .

FROM node:22-bookworm-slim AS console
WORKDIR /source
COPY package.json package-lock.json ./
COPY packages packages
COPY apps apps
RUN npm ci --ignore-scripts --no-audit --no-fund -w apps/web -w packages/client
RUN npm exec -w apps/web -- vite build

FROM rust:1.95-bookworm AS server
WORKDIR /source
COPY Cargo.toml Cargo.lock ./
# The members of the workspace: cargo reads all manifests, and builds only the server.
COPY bench bench
COPY xtask xtask
COPY crates crates
COPY --from=console /source/apps/web/dist /console
RUN HOLDPOINT_CONSOLE=/console cargo build --profile dist --locked --bin holdpoint

FROM debian:bookworm-slim
# The authorities are for TLS to the model and the database, curl for the health check.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --home-dir /var/lib/holdpoint --create-home holdpoint
COPY --from=server /source/target/dist/holdpoint /usr/local/bin/holdpoint
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/holdpoint/
USER holdpoint
# Without --log, the data folder is here: mount a volume.
WORKDIR /var/lib/holdpoint
EXPOSE 8787
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=3 CMD ["curl", "--fail", "--silent", "http://127.0.0.1:8787/ready"]
ENTRYPOINT ["holdpoint"]
# Other machines can reach it, so the server refuses to start without keys in its settings.
CMD ["serve", "--listen", "0.0.0.0:8787"]
