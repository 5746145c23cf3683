/** One topic of the store contract: declares its tests on a tester that has a store. */
import type { Vitest } from "@effect/vitest"
import type { AllStores } from "../AllStores.ts"

export type StoreTester = Vitest.MethodsNonLive<AllStores>

export interface StoreContractOptions {
  /**
   * Whether the store works on several operations at once. The races then take more rounds; a store
   * that takes one operation after the other has fewer ways to lose them, and one that does what another does
   * needs no more either. Default true.
   */
  readonly parallel?: boolean
  /**
   * Whether thousands of operations take no time worth counting, as in memory: more histories are
   * then drawn. Default false.
   */
  readonly quick?: boolean
}

export type Topic = (it: StoreTester, options: Required<StoreContractOptions>) => void
