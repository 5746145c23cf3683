/** A violated rule in an answer. */
export interface Finding {
  /** Identifies the fault, whatever request showed it: findings are counted by it. */
  readonly kind: string
  /** What this request showed. */
  readonly detail: string
}

/** A rule and what broke it. */
export const finding = (kind: string, detail = ""): Finding => ({ kind, detail })
