/** A QR code, drawn by the page: the service makes pictures of WhatsApp's codes alone. */
import { create } from "qrcode"

/** Modules of white around it, as the standard asks. */
const quiet = 4

export const QrCode = ({ label, text }: { label: string; text: string }) => {
  const { data, size } = create(text, { errorCorrectionLevel: "M" }).modules
  const path = Array.from({ length: size * size }, (_, index) =>
    data[index] ? `M${index % size} ${Math.floor(index / size)}h1v1h-1z` : "",
  ).join("")
  const edge = size + 2 * quiet
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`${-quiet} ${-quiet} ${edge} ${edge}`}
      width="272"
      height="272"
      shapeRendering="crispEdges"
      className="rounded-xl bg-white shadow-card"
    >
      <path d={path} fill="#000000" />
    </svg>
  )
}
