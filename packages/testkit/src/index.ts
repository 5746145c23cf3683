export { EmbeddedPostgres, EmbeddedPostgresError, hasBinaries } from "./EmbeddedPostgres.ts"
export type { EmbeddedPostgresOptions, PostgresCluster, TestDatabase } from "./EmbeddedPostgres.ts"
export { ownershipContract } from "./ownership/ownershipContract.ts"
export type { OwnershipContractOptions } from "./ownership/ownershipContract.ts"
export { interruptEverywhere } from "./interruptAt.ts"
export { dumpDatabase, sizesOfDataDirectory, sizesOfDatabase, tablesWith } from "./logicalDump.ts"
export type { LogicalDump, TableSizes } from "./logicalDump.ts"
export { putDataDirectory, putEmbeddedDatabase } from "./makeOnce.ts"
export { listenOnLoopback } from "./process/loopback.ts"
export * as processes from "./process/processes.ts"
export * as delivering from "./store/Delivering.ts"
export { aNewCampaign, campaignSettings } from "./store/Campaigning.ts"
export { claimKey, remaining, toScope } from "./store/Reading.ts"
export {
  aClaim,
  aKey,
  aMessage,
  aNumber,
  aPlan,
  aStage,
  aStoredKey,
  aStoredWorkspace,
  aWorkspace,
  accept,
  accepted,
  anAcceptance,
  day,
  fresh,
  noon,
  roomy,
} from "./store/Records.ts"
export * as sending from "./store/Sending.ts"
export type { StoreContractOptions } from "./store/Topic.ts"
export { readOutbox } from "./store/follow.ts"
export { storeContract, storeTopics } from "./store/storeContract.ts"
export { compareStores } from "./store/differential/compareStores.ts"
export { differentialSuite } from "./store/differential/differentialSuite.ts"
export type { DifferentialOptions } from "./store/differential/differentialSuite.ts"
export type { StoreTopic } from "./store/storeContract.ts"
export { RemoteServer } from "./transport/RemoteServer.ts"
export type { ReceivedCopy, Taking } from "./transport/RemoteServer.ts"
export { bySize } from "./testSize.ts"
export type { TestSize } from "./testSize.ts"
export * as live from "./transport/live.ts"
export { transportContract } from "./transport/transportContract.ts"

export { testSeed } from "./testSeed.ts"
export { storeChanged, storeWith } from "./storeWith.ts"
export type { StoreParts } from "./storeWith.ts"
export { sharePostgres } from "./sharedPostgres.ts"
