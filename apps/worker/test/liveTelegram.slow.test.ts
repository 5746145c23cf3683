/** Telegram accounts that several workers share: no two processes use one key at a time. */
import { layerTelegram } from "./live/remoteServers.ts"
import { sharesNumbers } from "./live/sharing.ts"

sharesNumbers("Telegram accounts", layerTelegram)
