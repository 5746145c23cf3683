import { TelegramTransport, WhatsAppTransport } from "@messaging-service/core"
import { transportContract } from "@messaging-service/testkit"
import { layerFarSideInMemory } from "./FarSideInMemory.ts"

transportContract("simulated WhatsApp", WhatsAppTransport, layerFarSideInMemory)
transportContract("simulated Telegram", TelegramTransport, layerFarSideInMemory)
