import { TelegramTransport, WhatsAppTransport } from "@messaging-service/core/ports"
import { transportContract } from "@messaging-service/testkit"
import { simulatedWorld } from "./SimulatedWorld.ts"

transportContract("simulated WhatsApp", WhatsAppTransport, simulatedWorld)
transportContract("simulated Telegram", TelegramTransport, simulatedWorld)
