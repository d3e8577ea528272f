# One image for routers (`serve`, the default) and workers (`work`). examples/compose runs it.
FROM node:20.20.2-bookworm-slim AS build
# hnswlib-node, the graph index for large catalogs, is compiled where it is installed.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ make python3 \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm install --no-save
COPY tsconfig.json tsconfig.build.json ./
COPY bandit bandit
COPY config config
COPY src src
COPY workers workers
# The ONNX runtime brings libraries for every system, 220 MB for others than this image's.
RUN npm run build && npm prune --omit=dev && rm -r node_modules/onnxruntime-node/bin/napi-v6/darwin node_modules/onnxruntime-node/bin/napi-v6/win32

FROM node:20.20.2-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY bandit/kernels/kernels.wasm bandit/kernels/kernels.wasm
COPY models/tool-static-256 models/tool-static-256
COPY examples/sample-catalog examples/sample-catalog
COPY openapi.json LICENSE ./
RUN mkdir /data && chown node:node /data
USER node
ENV BANDOLIER_DATA_DIR=/data
VOLUME /data
ENTRYPOINT ["node", "/app/dist/src/main.js"]
CMD ["serve"]
