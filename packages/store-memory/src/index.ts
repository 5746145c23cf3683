/** The store of the messaging service, and its media files, in memory. */
export { layerMediaFiles } from "./media.ts"
export { layer } from "./MemoryStore.ts"
export { layerForTests, TestControls, whichClient } from "./testControls.ts"
