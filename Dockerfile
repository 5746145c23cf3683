# Both apps as bundles, without the workspace that they were made from. The HTTP app is what it runs;
# the worker is the same image with another command (compose.yaml).
FROM node:24-bookworm-slim AS build
WORKDIR /build
COPY .pnpmfile.mjs package.json pnpm-lock.yaml pnpm-workspace.yaml rolldown.config.ts tsconfig.base.json ./
COPY packages packages
COPY apps apps
RUN npx -y pnpm@12.21.0 install --frozen-lockfile && npx -y pnpm@12.21.0 bundle

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=build /build/dist ./
# A new volume takes its owner from here: nothing else of the file system is written to.
RUN install --directory --owner=node --group=node --mode=0700 /data
VOLUME /data
USER node
EXPOSE 8080
# The worker listens on METRICS_PORT alone.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.METRICS_PORT || process.env.PORT || 8080}/health/ready`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "server/main.js"]
