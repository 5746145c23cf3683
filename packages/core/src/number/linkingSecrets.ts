/**
 * What is shown of an attempt at linking is a secret: who reads the text of its QR code or its pairing code can
 * link the account to a device of their own, and the QR code of WhatsApp says the key by which the new
 * device proves itself from then on. The store sees it sealed, as it does credentials.
 */
import { Result } from "effect"
import type { LinkingId } from "../Ids.ts"
import type { Secrets } from "../secret/Secrets.ts"
import type { LinkingAttempt, LinkingView } from "./Linking.ts"

type Sealing = Pick<typeof Secrets.Service, "seal" | "open">

const qrPlace = (id: LinkingId) => `QR code of linking attempt ${id}`
const codePlace = (id: LinkingId) => `pairing code of linking attempt ${id}`

/**
 * The view as the store keeps it. Sealed once for each thing that is shown, since the store tells by the
 * sealed text whether a QR code is a new one.
 */
export const sealedView = ({ seal }: Sealing, id: LinkingId, view: LinkingView): LinkingView => ({
  ...view,
  qrText: view.qrText === null ? null : seal(qrPlace(id), view.qrText),
  pairingCode:
    view.pairingCode === null
      ? null
      : { ...view.pairingCode, code: seal(codePlace(id), view.pairingCode.code) },
})

/**
 * The attempt as it is shown. What cannot be opened, as the text of an earlier version, counts as nothing:
 * the next code comes soon.
 */
export const openedAttempt = ({ open }: Sealing, attempt: LinkingAttempt): LinkingAttempt => {
  const { id, pairingCode, qrText } = attempt
  const opened = (place: string, sealed: string | undefined): string | null =>
    sealed === undefined ? null : Result.getOrNull(open(place, sealed))
  const code = opened(codePlace(id), pairingCode?.code)
  return {
    ...attempt,
    qrText: opened(qrPlace(id), qrText ?? undefined),
    pairingCode: pairingCode === null || code === null ? null : { ...pairingCode, code },
  }
}
