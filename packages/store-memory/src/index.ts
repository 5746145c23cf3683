export { layerMediaFiles } from "./MemoryMediaFiles.ts"
export { layer } from "./MemoryStore.ts"
export type { MemoryStore } from "./MemoryStore.ts"
