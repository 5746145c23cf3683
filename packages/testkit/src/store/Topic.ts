/** One topic of the store contract: declares its tests on a tester that has a store. */
import type { Vitest } from "@effect/vitest"
import type { Store } from "@messaging-service/core"

export type StoreTester = Vitest.MethodsNonLive<Store>

export interface StoreContractOptions {
  /**
   * Whether the store runs several operations at once. The races then take more rounds: a
   * sequential store has fewer ways to lose them, and a store that shares another's implementation
   * needs no more either. Default true.
   */
  readonly parallel?: boolean
  /**
   * Whether thousands of operations take almost no time, as in memory: more random histories then
   * run. Default false.
   */
  readonly quick?: boolean
}

export type Topic = (it: StoreTester, options: Required<StoreContractOptions>) => void
