/** The dependencies of the contract suite: the store, and that of the emulator's phones. */
import type { Store } from "@messaging-service/core"
import type { SimulatedPhones } from "@messaging-service/emulator"

export type AllStores = Store | SimulatedPhones
