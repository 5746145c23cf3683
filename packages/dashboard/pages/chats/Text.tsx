/** A text as it was written: plain, in its own direction, and no longer than a page before one asks for it. */
import { useState } from "react"
import { threadLabels as labels } from "./words.ts"

/** More of a text than this takes a press. */
const textMax = 1200

export const Text = ({ text }: { text: string }) => {
  const [isWhole, setWhole] = useState(false)
  const units = Array.from(text.slice(0, 2 * textMax))
  const isLong = units.length > textMax || text.split("\n", 30).length === 30
  return (
    <>
      <p
        dir="auto"
        className={`break-words whitespace-pre-wrap ${isLong && !isWhole ? "line-clamp-[12]" : ""}`}
      >
        {isLong && !isWhole ? `${units.slice(0, textMax).join("")}…` : text}
      </p>
      {isLong && !isWhole && (
        <button
          type="button"
          onClick={() => setWhole(true)}
          className="cursor-pointer self-start text-xs font-medium text-accent hover:underline"
        >
          {labels.showAll}
        </button>
      )}
    </>
  )
}
