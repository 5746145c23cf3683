/** One card in the middle of an empty page. */
import type { ReactNode } from "react"
import { base } from "../api/base.ts"

export const CenteredCard = ({ children }: { children: ReactNode }) => (
  <main className="grid min-h-dvh place-items-center p-5">
    <div className="flex w-full max-w-[24rem] flex-col gap-5">
      <img src={`${base}icon.svg`} alt="" width="40" height="40" />
      {children}
    </div>
  </main>
)
