/** Something that an answer must not be. */
export interface Finding {
  /** The same for the same fault, whatever request showed it: findings are counted by it. */
  readonly kind: string
  /** What this one request showed. */
  readonly detail: string
}

/** A rule and what broke it. */
export const finding = (kind: string, detail = ""): Finding => ({ kind, detail })
