import { TelegramTransport, WhatsAppTransport } from "@messaging-service/core"
import { transportContract } from "@messaging-service/testkit"
import { layerRemoteServerInMemory } from "./RemoteServerInMemory.ts"

transportContract("simulated WhatsApp", WhatsAppTransport, layerRemoteServerInMemory)
transportContract("simulated Telegram", TelegramTransport, layerRemoteServerInMemory)
