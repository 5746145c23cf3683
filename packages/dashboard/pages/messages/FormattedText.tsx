/** A text as the recipient's phone shows it: `*bold*`, `_italic_` and `~strike~`. */

const marks = /(\*[^*\n]+\*|_[^_\n]+_|~[^~\n]+~)/

export const FormattedText = ({ text }: { text: string }) =>
  text.split(marks).map((part, index) => {
    // The parts of a text have no other name than their place.
    const key = `${index} ${part}`
    const inner = part.slice(1, -1)
    if (!marks.test(part)) return <span key={key}>{part}</span>
    if (part.startsWith("*")) return <b key={key}>{inner}</b>
    return part.startsWith("_") ? <i key={key}>{inner}</i> : <s key={key}>{inner}</s>
  })
