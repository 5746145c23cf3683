/** WhatsApp numbers that several workers share. */
import { layerWhatsApp } from "./live/remoteServers.ts"
import { sharesNumbers } from "./live/sharing.ts"

sharesNumbers("live numbers", layerWhatsApp)
