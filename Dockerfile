# One image for routers (`serve`, the default) and workers (`work`): docker run -p 8787:8787 -v bandolier:/data <image>
# The first start prints the key that requests need. examples/compose runs several.
FROM node:22.23.3-bookworm-slim AS build
# hnswlib-node, the graph index for large catalogs, is compiled where it is installed, with the headers that the image has.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ make python3 \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts && npm_config_nodedir=/usr/local npm rebuild hnswlib-node
COPY tsconfig.json tsconfig.build.json ./
COPY bandit bandit
COPY config config
COPY src src
COPY workers workers
COPY .ci/build.js .ci/build.js
# The ONNX runtime, for transformer models, brings libraries for every system, 220 MB for others than this image's.
RUN npm run build && npm prune --omit=dev --ignore-scripts \
 && rm -rf node_modules/onnxruntime-node/bin/napi-v6/darwin node_modules/onnxruntime-node/bin/napi-v6/win32

FROM node:22.23.3-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY bandit/kernels/kernels.wasm bandit/kernels/kernels.wasm
COPY models/context-ranker models/context-ranker
COPY models/tool-static-256 models/tool-static-256
COPY examples/sample-catalog examples/sample-catalog
COPY openapi.json LICENSE ./
RUN install --directory --owner node --group node --mode 700 /data
USER node
# Every address: what reaches the container is what was published. So requests need a key.
ENV BANDOLIER_DATA_DIR=/data BANDOLIER_HOST=0.0.0.0
VOLUME /data
EXPOSE 8787
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.BANDOLIER_PORT ?? 8787}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/dist/bundle/main.js"]
CMD ["serve"]
