# The programs as bundles, without the workspace that they were made from. The HTTP app is what the image runs;
# the worker is the same image with another command (compose.production.yaml), and cli/main.js is the command
# line. The image holds libsignal, licensed under GPL-3.0 (docs/live.md).
# What is installed depends on these alone: an edit of the sources does not install again.
FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS manifests
WORKDIR /build
COPY packages packages
COPY apps apps
RUN find packages apps -mindepth 2 -maxdepth 2 ! -name package.json -exec rm -r {} +

FROM --platform=$BUILDPLATFORM node:24-bookworm-slim AS build
WORKDIR /build
COPY .pnpmfile.mjs package.json pnpm-lock.yaml pnpm-workspace.yaml ./
COPY .ci/installProduct .ci/
COPY --from=manifests /build ./
RUN npx -y pnpm@12.21.0 install:product
COPY rolldown.config.ts tsconfig.base.json ./
COPY packages packages
COPY apps apps
RUN npx -y pnpm@12.21.0 bundle --no-sourcemap
# A new volume takes its owner from here: nothing else of the file system is written to.
RUN install --directory --mode=0700 /volumes/data

# Bundles run on every processor, so nothing runs here, and an image for another processor needs no emulator.
FROM node:24-bookworm-slim
LABEL org.opencontainers.image.title="messaging-service" org.opencontainers.image.licenses="MIT AND GPL-3.0-only"
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=build /build/dist ./
COPY --from=build --chown=node:node /volumes/ /
VOLUME /data
USER node
EXPOSE 8080
# The worker listens on METRICS_PORT alone. The shell asks by itself, so that no check starts a Node.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${METRICS_PORT:-${PORT:-8080}} && printf 'GET /health/ready HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [[ $status == 200 ]]"]
CMD ["node", "server/main.js"]
