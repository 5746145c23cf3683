/** A message as the recipient's phone shows it. */
import type { ReactNode } from "react"
import { newMessageLabels as labels } from "./words.ts"

export const Preview = ({
  empty = labels.previewEmpty,
  media = null,
  text,
}: {
  text: string
  /** Shown while the text is empty. */
  empty?: string
  /** The image or file above the text. */
  media?: ReactNode
}) => (
  <section
    aria-label={labels.preview}
    className="flex min-h-48 min-w-0 flex-col gap-3 rounded-[1.75rem] border-8 border-phone bg-chat p-4"
  >
    <div className="flex max-w-[90%] min-w-0 flex-col gap-2 self-start rounded-xl rounded-tl-[3px] bg-bubble p-1.5 text-sm shadow-card">
      {media}
      <p className="px-1.5 py-0.5 break-words whitespace-pre-wrap empty:hidden">
        {text === "" ? (
          empty && <span className="text-soft">{empty}</span>
        ) : (
          <FormattedText text={text} />
        )}
      </p>
    </div>
  </section>
)

const marks = /(\*[^*\n]+\*|_[^_\n]+_|~[^~\n]+~)/

/** A text as the recipient's phone shows it: `*bold*`, `_italic_` and `~strike~`. */
const FormattedText = ({ text }: { text: string }) =>
  text.split(marks).map((part, index) => {
    // The parts of a text have no other name than their place.
    const key = `${index} ${part}`
    const inner = part.slice(1, -1)
    if (!marks.test(part)) return <span key={key}>{part}</span>
    if (part.startsWith("*")) return <b key={key}>{inner}</b>
    return part.startsWith("_") ? <i key={key}>{inner}</i> : <s key={key}>{inner}</s>
  })
