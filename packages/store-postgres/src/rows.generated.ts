/**
 * The parameters and columns of the statements and functions of `sql/`, as the catalogue has them; `?` marks
 * what may be null. Made by `pnpm generate`: change the files there.
 */
export const sqlTypes = {
  "accept_messages": {
    params: { now: "timestamptz[]", workspace: "bigint[]", number: "bigint[]", live: "boolean[]", count: "integer[]", dueAt: "timestamptz[]", allowance: "integer[]", quotaAt: "timestamptz[]", quotaCount: "integer[]", quotaLimit: "integer[]", quotaWindowMillis: "bigint[]", claimKeyId: "bigint[]", claimKey: "text[]", claimFingerprint: "text[]", claimToken: "text[]", mAcceptance: "integer[]", mPlatform: "text[]", mFromPhone: "text[]", mToKind: "text[]", mToPhone: "text[]", mToName: "text[]", mToContactId: "bigint[]", mText: "text[]", mMediaId: "bigint[]", mAttachmentId: "bigint[]", mMediaUrl: "text[]", mMediaType: "text[]", mMediaFileName: "text[]", mSendAt: "timestamptz[]", mExpiresAt: "timestamptz[]", mCreatedAt: "timestamptz[]", mDueAt: "timestamptz[]", mTransportId: "text[]", mCallbackUrl: "text[]", mReference: "text[]", mCampaignId: "bigint[]", mCampaignRow: "integer[]", mToChatId: "bigint[]", mToAddress: "text[]", mReplyReceivedId: "bigint[]", mReplyMessageId: "bigint[]", lockTimeout: "integer" },
    columns: { guard: "text?", ids: "bigint[]?" },
  },
  "add_linking": {
    params: { nWorkspaceId: "bigint", nMode: "text", nPhone: "text", nLabel: "text", nPlatform: "text", nLoginMethod: "text", nCreatedAt: "timestamptz", limit: "bigint", aId: "text", aMode: "text", aMethod: "text", aPhone: "text", aRequestedAt: "timestamptz", aEndsAt: "timestamptz", aLinksAt: "timestamptz", aQrText: "text", aQrExpiresAt: "timestamptz", aPairingCode: "text", aPairingCodeExpiresAt: "timestamptz", aLinking: "boolean", aCallbackUrl: "text", aPacing: "integer[]", claimKeyId: "bigint", claimKey: "text", claimFingerprint: "text", claimToken: "text" },
    columns: { number_id: "bigint?", guard: "text?" },
  },
  "add_received_file": {
    params: { id: "bigint", media: "text", source: "text", now: "timestamptz" },
    columns: { answer: "void?" },
  },
  "added_counts": {
    params: { one: "jsonb", other: "jsonb" },
    columns: { answer: "jsonb" },
  },
  "added_elements": {
    params: { one: "bigint[]", other: "bigint[]" },
    columns: { answer: "bigint[]" },
  },
  "admit_requests": {
    params: { hash: "text", version: "integer", now: "timestamptz", minuteStart: "timestamptz", dayStart: "timestamptz", address: "text", count: "integer", minuteLimit: "integer" },
    columns: { minute_count: "integer?", day_count: "integer?", id: "bigint?", workspace_id: "bigint?", version: "smallint?", name: "text?", mode: "text?", scopes: "text[]?", number_ids: "bigint[]?", expires_at: "timestamptz?", last4: "text?", created_at: "timestamptz?", revoked_at: "timestamptz?", last_used_at: "timestamptz?", last_used_ip: "text?", w_id: "bigint?", w_name: "text?", w_demo: "boolean?", w_account_disabled: "boolean?", w_api_v2_enabled: "boolean?", w_plan_name: "text?", w_plan_messages_remaining: "bigint?", w_plan_reminders: "boolean?", w_plan_qr_code_api: "boolean?", w_plan_max_numbers: "bigint?", w_plan_media_storage_bytes: "bigint?", w_retention_days: "integer?", w_created_at: "timestamptz?", w_deleted_at: "timestamptz?" },
  },
  "announce_received": {
    params: { now: "timestamptz", workspaceIds: "bigint[]", modes: "text[]", receivedIds: "bigint[]", messageIds: "bigint[]", positions: "bigint[]", eventIds: "text[]", eventTypes: "text[]", eventBodies: "text[]" },
    columns: { answer: "boolean" },
  },
  "announce_tick": {
    params: { message: "bigint", state: "text", from: "text[]", now: "timestamptz", eventId: "text", eventType: "text", eventBody: "text" },
    columns: { answer: "boolean?" },
  },
  "answer_number_check": {
    params: { id: "bigint", lease: "bigint", phones: "text[]", statuses: "text[]", now: "timestamptz" },
    columns: { answer: "boolean?" },
  },
  "append_campaign_rows": {
    params: { id: "bigint", revision: "bigint", after: "integer", upload: "text", until: "timestamptz", isLast: "boolean", now: "timestamptz", madeIds: "bigint[]", shown: "jsonb", claimKeyId: "bigint", claimKey: "text", claimFingerprint: "text", claimToken: "text", rRow: "integer[]", rLine: "integer[]", rRecipient: "jsonb[]", rNeeds: "text[]", rRecipientKey: "text[]", rPhone: "text[]", rValues: "jsonb[]", rSendAt: "timestamptz[]", rExpiresAt: "timestamptz[]", rState: "text[]", rCode: "text[]", rField: "text[]", rFirstRow: "integer[]" },
    columns: { answer: "text?" },
  },
  "attach_media_file": {
    params: { workspaceId: "bigint", mode: "text", fileName: "text", type: "text", mimeType: "text", size: "bigint", storageKey: "text", createdAt: "timestamptz", limitBytes: "bigint" },
    columns: { id: "bigint?", used: "bigint" },
  },
  "begin_epoch": {
    params: { schema: "text", tables: "text[]", epoch: "integer", step: "bigint", above: "bigint", now: "timestamptz" },
    columns: { answer: "integer" },
  },
  "bring_deliveries_forward": {
    params: { delivery: "bigint[]", attemptedAt: "timestamptz[]", error: "text[]" },
    columns: { answer: "void?" },
  },
  "callback_places": {
    params: { now: "timestamptz", lanes: "bigint[]", settled: "bigint[]", perTarget: "integer", callbacks: "integer", perWorkspace: "integer", workspaces: "bigint[]", held: "integer[]" },
    columns: { answer: "integer[]?" },
  },
  "claim_idempotency_key": {
    params: { claimKeyId: "bigint", claimKey: "text", claimFingerprint: "text", claimToken: "text", now: "timestamptz" },
    columns: { answer: "json?" },
  },
  "claim_lanes": {
    params: { now: "timestamptz", leaseUntil: "timestamptz", limit: "integer", cap: "integer", windowMillis: "bigint", of: "bigint", shards: "bigint[]", perWorkspace: "integer", workspaces: "bigint[]", held: "integer[]", turn: "integer", dueSince: "timestamptz" },
    columns: { lease: "bigint", interruptions: "integer", removed: "boolean", pacing: "integer[]?", refusals: "integer", pauses: "integer", no_room: "integer", n_phone: "text?", n_label: "text", n_status: "text", n_login_method: "text", n_created_at: "timestamptz", id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?", place: "integer", was_due: "timestamptz" },
  },
  "claim_number_checks": {
    params: { now: "timestamptz", leaseUntil: "timestamptz", limit: "integer", chunk: "integer", of: "bigint", shards: "bigint[]", perWorkspace: "integer", workspaces: "bigint[]", held: "integer[]" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", removed: "boolean", lease: "bigint", tries: "integer", phones: "text[]" },
  },
  "claim_received_files": {
    params: { now: "timestamptz", leaseUntil: "timestamptz", limit: "integer", of: "bigint", shards: "bigint[]", perWorkspace: "integer", workspaces: "bigint[]", held: "integer[]" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", remote_id: "text", file: "json?", source: "text", lease: "bigint", wanted_at: "timestamptz", max_file_bytes: "bigint" },
  },
  "clear_campaign_rows": {
    params: { id: "bigint", revision: "bigint" },
    columns: { answer: "integer?" },
  },
  "commit_media_file": {
    params: { id: "bigint", now: "timestamptz", claimKeyId: "bigint", claimKey: "text", claimFingerprint: "text", claimToken: "text" },
    columns: { answer: "text?" },
  },
  "control_lane": {
    params: { number: "bigint", now: "timestamptz", resume: "boolean", linked: "boolean", pauseReason: "text", pauseUntil: "timestamptz", pacing: "integer[]", eventId: "text" },
    columns: { answer: "boolean?" },
  },
  "count_figures": {
    params: { stream: "text", from: "bigint", to: "bigint", hours: "jsonb" },
    columns: { answer: "boolean" },
  },
  "delete_chat": {
    params: { workspaceId: "bigint", mode: "text", numbers: "bigint[]", id: "bigint", now: "timestamptz" },
    columns: { answer: "boolean" },
  },
  "delete_conversations": {
    params: { workspaceId: "bigint", now: "timestamptz" },
    columns: { answer: "boolean?" },
  },
  "delete_received": {
    params: { workspaceId: "bigint", mode: "text", numbers: "bigint[]", id: "bigint", now: "timestamptz" },
    columns: { answer: "boolean" },
  },
  "delete_workspace": {
    params: { id: "bigint", now: "timestamptz" },
    columns: { answer: "boolean?" },
  },
  "due_callback_lanes": {
    params: { now: "timestamptz", limit: "integer", lanes: "bigint[]", perWorkspace: "integer", workspaces: "bigint[]", held: "integer[]" },
    columns: { answer: "bigint[]?" },
  },
  "end_copy_waits": {
    params: { now: "timestamptz", limit: "integer" },
    columns: { number_id: "bigint", mode: "text", from_me: "boolean", sent_at: "timestamptz", id: "bigint?", became: "text", workspace_id: "bigint?", sequence: "bigint?", number_phone: "text?", platform: "text?", chat_id: "bigint?", chat_type: "text?", chat_name: "text?", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?" },
  },
  "end_messages": {
    params: { now: "timestamptz", lockTimeout: "integer", numberId: "bigint[]", messageId: "bigint[]", state: "text[]", sentAt: "timestamptz[]", errorCode: "text[]", errorMessage: "text[]", foundMediaType: "text[]", endPhone: "text[]", givesBack: "boolean[]", eventId: "text[]", eventType: "text[]", eventAt: "timestamptz[]", eventBody: "text[]", callbackTarget: "text[]", callbackUrl: "text[]", callbackBody: "text[]" },
    columns: { message_id: "bigint", queued: "boolean" },
  },
  "end_portal": {
    params: { workspaceId: "bigint", now: "timestamptz" },
    columns: { answer: "void?" },
  },
  "end_received_events": {
    params: { received: "bigint[]", positions: "bigint[]" },
    columns: { answer: "void?" },
  },
  "end_webhook_deliveries": {
    params: { endpoints: "bigint[]" },
    columns: { answer: "void?" },
  },
  "enter_chats": {
    params: { messages: "bigint[]" },
    columns: { answer: "void?" },
  },
  "erase_reactions": {
    params: { ids: "bigint[]" },
    columns: { answer: "void?" },
  },
  "erase_received": {
    params: { workspaceId: "bigint", now: "timestamptz", most: "bigint", mostChats: "bigint", marksBefore: "timestamptz", limit: "integer" },
    columns: { answer: "boolean" },
  },
  "erase_received_files": {
    params: { ids: "bigint[]" },
    columns: { answer: "void?" },
  },
  "erase_received_messages": {
    params: { ids: "bigint[]", now: "timestamptz" },
    columns: { answer: "integer?" },
  },
  "erase_rows": {
    params: { kind: "text", owner: "bigint[]", mode: "text[]", before: "timestamptz[]", lastId: "bigint[]", list: "integer", after: "bigint", most: "integer" },
    columns: { next_list: "integer", next_after: "bigint" },
  },
  "exchange_sign_in_link": {
    params: { codeHash: "text", hash: "text", now: "timestamptz", tokenMark: "text", most: "integer" },
    columns: { workspace_id: "bigint?", role: "text?", return_url: "text?", created_at: "timestamptz?", expires_at: "timestamptz?" },
  },
  "expire_campaign_rows": {
    params: { id: "bigint", now: "timestamptz", limit: "integer" },
    columns: { answer: "integer" },
  },
  "find_changed": {
    params: { number: "bigint", isReaction: "boolean", remoteId: "text", targetFromMe: "boolean", isVerified: "boolean", mode: "text", fromMe: "boolean", groupId: "text", hasPerson: "boolean", phone: "text", lid: "text", userId: "text", username: "text", name: "text", changeId: "text", now: "timestamptz" },
    columns: { workspace_id: "bigint", number_phone: "text?", received_id: "bigint?", message_id: "bigint?", person_id: "bigint?", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", reaction_id: "bigint?", emoji: "text?", reacted_at: "timestamptz?" },
  },
  "find_person": {
    params: { number: "bigint", phone: "text", lid: "text", userId: "text", username: "text", name: "text" },
    columns: { id: "bigint", number_id: "bigint", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", in_use: "boolean" },
  },
  "finish_arrivals": {
    params: {},
    columns: { answer: "void?" },
  },
  "finish_idempotency_claim": {
    params: { keyId: "bigint", key: "text", fingerprint: "text", madeIds: "bigint[]", now: "timestamptz", shown: "jsonb" },
    columns: { answer: "void?" },
  },
  "finish_linking": {
    params: { attempt: "text", phone: "text", now: "timestamptz", connectedWorkspace: "bigint", connectedTarget: "text", connectedUrl: "text", connectedCreatedAt: "timestamptz", connectedEventId: "text", connectedType: "text", connectedBody: "text", disconnectedWorkspace: "bigint", disconnectedTarget: "text", disconnectedUrl: "text", disconnectedCreatedAt: "timestamptz", disconnectedEventId: "text", disconnectedType: "text", disconnectedBody: "text", statusEventId: "text", pauseEventId: "text", gapEventId: "text" },
    columns: { answer: "bigint?" },
  },
  "forget_people": {
    params: { people: "bigint[]" },
    columns: { answer: "void?" },
  },
  "give_up_linking": {
    params: { attempt: "text", at: "timestamptz", reason: "text", newWorkspace: "bigint", newTarget: "text", newUrl: "text", newCreatedAt: "timestamptz", newEventId: "text", newType: "text", newBody: "text", statusEventId: "text" },
    columns: { answer: "boolean?" },
  },
  "has_conversations": {
    params: { workspace: "bigint" },
    columns: { answer: "boolean?" },
  },
  "hold_campaign": {
    params: { id: "bigint", now: "timestamptz" },
    columns: { answer: "void?" },
  },
  "hold_idempotency_claim": {
    params: { keyId: "bigint", key: "text", token: "text" },
    columns: { answer: "boolean?" },
  },
  "insert_browser_session": {
    params: { workspaceId: "bigint", role: "text", returnUrl: "text", createdAt: "timestamptz", expiresAt: "timestamptz", hash: "text", tokenMark: "text", linkId: "bigint", most: "integer" },
    columns: { answer: "void?" },
  },
  "insert_campaign": {
    params: { workspaceId: "bigint", mode: "text", state: "text", stateReason: "text", isHolding: "boolean", asksFromRow: "boolean", runningSince: "timestamptz", lookAt: "timestamptz", createdAt: "timestamptz", startedAt: "timestamptz", endedAt: "timestamptz", name: "text", text: "text", media: "jsonb", numberIds: "bigint[]", reference: "text", timezone: "text", sendAt: "timestamptz", hours: "jsonb", expiresAt: "timestamptz", quotaReserve: "integer", defaultCountryCode: "text", duplicates: "text", original: "jsonb", most: "integer", claimKeyId: "bigint", claimKey: "text", claimFingerprint: "text", claimToken: "text" },
    columns: { id: "bigint?", guard: "text?" },
  },
  "insert_number_check": {
    params: { workspace: "bigint", mode: "text", number: "bigint", name: "text", phones: "text[]", now: "timestamptz", claimKeyId: "bigint", claimKey: "text", claimFingerprint: "text", claimToken: "text" },
    columns: { guard: "text?", id: "bigint?" },
  },
  "insert_refused_message": {
    params: { mId: "bigint", mWorkspaceId: "bigint", mMode: "text", mNumberId: "bigint", mPlatform: "text", mFromPhone: "text", mToKind: "text", mToPhone: "text", mToName: "text", mToContactId: "bigint", mText: "text", mMediaId: "bigint", mAttachmentId: "bigint", mMediaUrl: "text", mMediaType: "text", mMediaFileName: "text", mSendAt: "timestamptz", mExpiresAt: "timestamptz", mCreatedAt: "timestamptz", mDueAt: "timestamptz", mTransportId: "text", mCallbackUrl: "text", mReference: "text", mToChatId: "bigint", mToAddress: "text", mReplyReceivedId: "bigint", mReplyMessageId: "bigint", mState: "text", mSentAt: "timestamptz", mErrorCode: "text", mErrorMessage: "text", mFoundMediaType: "text", mEndPhone: "text", eventId: "text", eventType: "text", eventAt: "timestamptz", eventBody: "text", callbackTarget: "text", callbackUrl: "text", callbackBody: "text" },
    columns: { queued: "boolean?" },
  },
  "insert_reminder": {
    params: { workspaceId: "bigint", mode: "text", nextRunAt: "timestamptz", createdAt: "timestamptz", name: "text", active: "boolean", recipient: "jsonb", numberId: "bigint", text: "text", media: "jsonb", cron: "text", timezone: "text", claimKeyId: "bigint", claimKey: "text", claimFingerprint: "text", claimToken: "text" },
    columns: { answer: "bigint?" },
  },
  "insert_sign_in_link": {
    params: { workspaceId: "bigint", role: "text", returnUrl: "text", codeHash: "text", tokenMark: "text", createdAt: "timestamptz", codeExpiresAt: "timestamptz", sessionMillis: "bigint", most: "integer" },
    columns: { answer: "bigint?" },
  },
  "insert_subscription": {
    params: { name: "text", reached: "bigint", now: "timestamptz", most: "integer" },
    columns: { answer: "text?" },
  },
  "insert_webhook_endpoint": {
    params: { workspaceId: "bigint", mode: "text", keyId: "bigint", url: "text", description: "text", events: "text[]", secretSalt: "text", secretLast4: "text", createdAt: "timestamptz", limit: "integer", claimKeyId: "bigint", claimKey: "text", claimFingerprint: "text", claimToken: "text" },
    columns: { guard: "text?", id: "bigint?" },
  },
  "left_over_media_files": {
    params: { reservedBefore: "timestamptz", limit: "integer" },
    columns: { id: "bigint", storage_key: "text" },
  },
  "list_campaign_rows": {
    params: { id: "bigint", statuses: "text[]", code: "text", phone: "text", after: "integer", limit: "integer" },
    columns: { place: "integer", line: "integer?", recipient: "jsonb?", needs: "text?", recipient_key: "text?", phone: "text?", row_values: "jsonb?", send_at: "timestamptz?", expires_at: "timestamptz?", state: "text", code: "text?", field: "text?", first_row: "integer?", status: "text", message_id: "bigint?", sent_text: "text?", number_id: "bigint?", taken_on_at: "timestamptz?", sent_at: "timestamptz?", delivered_at: "timestamptz?", read_at: "timestamptz?", error_code: "text?", error_message: "text?" },
  },
  "load_acceptance": {
    params: { query: "jsonb" },
    columns: { answer: "json?" },
  },
  "lock_chat": {
    params: { workspaceId: "bigint", mode: "text", numbers: "bigint[]", id: "bigint" },
    columns: { answer: "bigint?" },
  },
  "lock_received": {
    params: { workspace: "bigint" },
    columns: { answer: "void?" },
  },
  "lock_received_counter": {
    params: { number: "bigint", workspace: "bigint" },
    columns: { answer: "bigint" },
  },
  "lock_webhook_endpoint": {
    params: { workspaceId: "bigint", mode: "text", id: "bigint" },
    columns: { answer: "text?" },
  },
  "look_at_campaigns": {
    params: { workspace: "bigint", now: "timestamptz" },
    columns: { answer: "void?" },
  },
  "mark_read": {
    params: { workspaceId: "bigint", mode: "text", numbers: "bigint[]", id: "bigint", upTo: "bigint", now: "timestamptz", claimKeyId: "bigint", claimKey: "text", claimFingerprint: "text", claimToken: "text" },
    columns: { guard: "text?", up_to: "bigint?" },
  },
  "merge_chat": {
    params: { from: "bigint", into: "bigint" },
    columns: { answer: "void?" },
  },
  "merge_reactions": {
    params: { from: "bigint", into: "bigint" },
    columns: { answer: "void?" },
  },
  "message_id_at": {
    params: { workspace: "bigint", mode: "text", moment: "timestamptz" },
    columns: { answer: "bigint?" },
  },
  "move_campaign": {
    params: { id: "bigint", revision: "bigint", now: "timestamptz", state: "text", stateReason: "text", isHolding: "boolean", asksFromRow: "boolean", runningSince: "timestamptz", lookAt: "timestamptz", startedAt: "timestamptz", endedAt: "timestamptz", messages: "text", skipBefore: "integer", isRemoved: "boolean" },
    columns: { answer: "boolean?" },
  },
  "needs_no_copy": {
    params: { number: "bigint", mode: "text", fromMe: "boolean", groupId: "text", remoteId: "text", phone: "text", lid: "text", userId: "text" },
    columns: { answer: "boolean" },
  },
  "open_new_chats": {
    params: { now: "timestamptz", limit: "integer" },
    columns: { answer: "integer?" },
  },
  "pass_reminder": {
    params: { rId: "bigint", rRevision: "bigint", rDueAt: "timestamptz", rRanAt: "timestamptz", rNextRunAt: "timestamptz", rClaimKeyId: "bigint", rClaimKey: "text", rClaimFingerprint: "text", rClaimToken: "text", outcome: "text", code: "text" },
    columns: { guard: "text?", run_id: "bigint?" },
  },
  "put_conversations": {
    params: { workspaceId: "bigint", groups: "boolean", retentionDays: "integer", media: "text", maxFileBytes: "bigint", maxStorageBytes: "bigint", holdNewChats: "boolean", since: "timestamptz" },
    columns: { workspace_id: "bigint", groups: "boolean", retention_days: "integer", media: "text", max_file_bytes: "bigint", max_storage_bytes: "bigint", hold_new_chats: "boolean", since: "timestamptz" },
  },
  "put_reaction": {
    params: { id: "bigint", number: "bigint", received: "bigint", message: "bigint", mode: "text", fromMe: "boolean", person: "bigint", groupId: "text", emoji: "text", at: "timestamptz", now: "timestamptz", tells: "boolean" },
    columns: { answer: "bigint?" },
  },
  "queue_webhook_ping": {
    params: { workspaceId: "bigint", mode: "text", id: "bigint", eventId: "text", createdAt: "timestamptz", body: "text" },
    columns: { answer: "text?" },
  },
  "receive_messages": {
    params: { number: "bigint", now: "timestamptz", remoteIds: "text[]", addresses: "text[]", modes: "text[]", fromMe: "boolean[]", groupIds: "text[]", groupNames: "text[]", hasPerson: "boolean[]", phones: "text[]", lids: "text[]", userIds: "text[]", usernames: "text[]", names: "text[]", kinds: "text[]", texts: "text[]", contents: "text[]", files: "text[]", fileSources: "text[]", quotedIds: "text[]", quoteTexts: "text[]", sentAt: "timestamptz[]", isUnreadable: "boolean[]", waitsUntil: "timestamptz" },
    columns: { id: "bigint?", became: "text", workspace_id: "bigint?", sequence: "bigint?", number_phone: "text?", platform: "text?", chat_id: "bigint?", chat_type: "text?", chat_name: "text?", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", quoted_received_id: "bigint?", quoted_message_id: "bigint?", file_state: "text?", sent_at: "timestamptz?", received_at: "timestamptz?", reactions: "json?" },
  },
  "reconnect_linking": {
    params: { workspaceId: "bigint", numberId: "bigint", aId: "text", aMode: "text", aMethod: "text", aPhone: "text", aRequestedAt: "timestamptz", aEndsAt: "timestamptz", aLinksAt: "timestamptz", aQrText: "text", aQrExpiresAt: "timestamptz", aPairingCode: "text", aPairingCodeExpiresAt: "timestamptz", aLinking: "boolean", aCallbackUrl: "text", aPacing: "integer[]", claimKeyId: "bigint", claimKey: "text", claimFingerprint: "text", claimToken: "text" },
    columns: { guard: "text?", phone: "text?", label: "text?" },
  },
  "recover_received": {
    params: { number: "bigint", id: "bigint", address: "text", kind: "text", text: "text", content: "text", file: "text", quotedId: "text", quoteText: "text" },
    columns: { sequence: "bigint", chat_id: "bigint", chat_type: "text", chat_name: "text?", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", quoted_received_id: "bigint?", quoted_message_id: "bigint?", sent_at: "timestamptz", received_at: "timestamptz", reactions: "json?" },
  },
  "recover_webhook_events": {
    params: { workspaceId: "bigint", mode: "text", id: "bigint", positions: "bigint[]", seen: "bigint", now: "timestamptz" },
    columns: { state: "text?", queued: "integer" },
  },
  "redeliver_webhook_event": {
    params: { workspaceId: "bigint", mode: "text", id: "bigint", eventId: "text", now: "timestamptz" },
    columns: { answer: "text?" },
  },
  "release_campaign": {
    params: { id: "bigint", now: "timestamptz" },
    columns: { answer: "void?" },
  },
  "release_held": {
    params: { ids: "bigint[]", numbers: "bigint[]", now: "timestamptz" },
    columns: { message_id: "bigint" },
  },
  "release_new_chats": {
    params: { numbers: "bigint[]", phones: "text[]", now: "timestamptz" },
    columns: { answer: "boolean?" },
  },
  "remove_lanes": {
    params: { numbers: "bigint[]", now: "timestamptz" },
    columns: { answer: "void?" },
  },
  "remove_number": {
    params: { workspaceId: "bigint", id: "bigint", now: "timestamptz" },
    columns: { answer: "boolean?" },
  },
  "remove_webhook_endpoints": {
    params: { endpoints: "bigint[]", now: "timestamptz" },
    columns: { answer: "integer?" },
  },
  "report_connection": {
    params: { number: "bigint", workspace: "bigint", target: "text", url: "text", createdAt: "timestamptz", eventId: "text", type: "text", body: "text" },
    columns: { answer: "void?" },
  },
  "report_ended_pauses": {
    params: { now: "timestamptz", eventIds: "text[]" },
    columns: { answer: "integer?" },
  },
  "report_gap": {
    params: { number: "bigint", eventId: "text", reason: "text", from: "timestamptz", now: "timestamptz" },
    columns: { answer: "boolean" },
  },
  "report_number": {
    params: { number: "bigint", eventId: "text", type: "text", reason: "text", since: "timestamptz", now: "timestamptz" },
    columns: { answer: "void?" },
  },
  "report_pause": {
    params: { number: "bigint", eventId: "text", now: "timestamptz" },
    columns: { answer: "void?" },
  },
  "report_status": {
    params: { number: "bigint", before: "text", eventId: "text", now: "timestamptz" },
    columns: { answer: "void?" },
  },
  "reserve_media_file": {
    params: { workspaceId: "bigint", mode: "text", fileName: "text", type: "text", mimeType: "text", size: "bigint", storageKey: "text", createdAt: "timestamptz", limitBytes: "bigint" },
    columns: { id: "bigint?", used: "bigint" },
  },
  "reserve_received_file": {
    params: { receivedId: "bigint", lease: "bigint", workspaceId: "bigint", mode: "text", fileName: "text", type: "text", mimeType: "text", size: "bigint", storageKey: "text", createdAt: "timestamptz" },
    columns: { id: "bigint?", used: "bigint" },
  },
  "restrict_number": {
    params: { number: "bigint", workspaceId: "bigint", mode: "text", state: "text", until: "timestamptz", reason: "text", chatLimit: "bigint", chatsUsed: "bigint", resetsAt: "timestamptz", warning: "text", checkedAt: "timestamptz", waitsUntil: "timestamptz", isReported: "boolean", now: "timestamptz", eventId: "text", eventType: "text", eventBody: "text" },
    columns: { answer: "void?" },
  },
  "resume_webhook_endpoint": {
    params: { workspaceId: "bigint", mode: "text", id: "bigint", limit: "integer", now: "timestamptz" },
    columns: { answer: "text?" },
  },
  "revoke_key": {
    params: { workspaceId: "bigint", id: "bigint", now: "timestamptz" },
    columns: { id: "bigint", workspace_id: "bigint", version: "smallint", name: "text", mode: "text", scopes: "text[]", number_ids: "bigint[]?", expires_at: "timestamptz?", last4: "text", hash: "text", created_at: "timestamptz", revoked_at: "timestamptz?", erased_at: "timestamptz?" },
  },
  "revoke_sign_in_link": {
    params: { workspaceId: "bigint", id: "bigint", now: "timestamptz" },
    columns: { answer: "boolean?" },
  },
  "run_reminder": {
    params: { rId: "bigint", rRevision: "bigint", rDueAt: "timestamptz", rRanAt: "timestamptz", rNextRunAt: "timestamptz", rClaimKeyId: "bigint", rClaimKey: "text", rClaimFingerprint: "text", rClaimToken: "text", now: "timestamptz[]", workspace: "bigint[]", number: "bigint[]", live: "boolean[]", count: "integer[]", dueAt: "timestamptz[]", allowance: "integer[]", quotaAt: "timestamptz[]", quotaCount: "integer[]", quotaLimit: "integer[]", quotaWindowMillis: "bigint[]", claimKeyId: "bigint[]", claimKey: "text[]", claimFingerprint: "text[]", claimToken: "text[]", mAcceptance: "integer[]", mPlatform: "text[]", mFromPhone: "text[]", mToKind: "text[]", mToPhone: "text[]", mToName: "text[]", mToContactId: "bigint[]", mText: "text[]", mMediaId: "bigint[]", mAttachmentId: "bigint[]", mMediaUrl: "text[]", mMediaType: "text[]", mMediaFileName: "text[]", mSendAt: "timestamptz[]", mExpiresAt: "timestamptz[]", mCreatedAt: "timestamptz[]", mDueAt: "timestamptz[]", mTransportId: "text[]", mCallbackUrl: "text[]", mReference: "text[]", mCampaignId: "bigint[]", mCampaignRow: "integer[]", mToChatId: "bigint[]", mToAddress: "text[]", mReplyReceivedId: "bigint[]", mReplyMessageId: "bigint[]", lockTimeout: "integer" },
    columns: { guard: "text?", ids: "bigint[]?", run_id: "bigint?" },
  },
  "search_messages": {
    params: { workspace: "bigint", mode: "text", pattern: "text", before: "bigint", since: "timestamptz", until: "timestamptz", numbers: "bigint[]", ended: "text[]", queued: "boolean", scheduled: "boolean", error: "text", reference: "text", now: "timestamptz", most: "integer", limit: "integer" },
    columns: { ids: "bigint[]", next_id: "bigint?", oldest_at: "timestamptz?" },
  },
  "set_new_chats": {
    params: { numbers: "bigint[]", until: "timestamptz", now: "timestamptz" },
    columns: { answer: "void?" },
  },
  "set_new_chats_aside": {
    params: { numbers: "bigint[]", turn: "integer", now: "timestamptz" },
    columns: { answer: "bigint[]?" },
  },
  "set_number_status": {
    params: { number: "bigint", status: "text", phone: "text", now: "timestamptz", reason: "text", newWorkspace: "bigint", newTarget: "text", newUrl: "text", newCreatedAt: "timestamptz", newEventId: "text", newType: "text", newBody: "text", eventId: "text" },
    columns: { id: "bigint", workspace_id: "bigint", phone: "text?", label: "text", platform: "text", status: "text", login_method: "text", created_at: "timestamptz", removed_at: "timestamptz?", mode: "text", callback_url: "text?", status_since: "timestamptz?", status_reason: "text?", proxy_host: "text?", proxy_port: "integer?", proxy_url: "text?", erased_at: "timestamptz?", away_since: "timestamptz?" },
  },
  "settle_and_claim_deliveries": {
    params: { lane: "bigint[]", results: "integer[]", deliveredAt: "timestamptz[]", delivery: "bigint[]", lease: "bigint[]", attemptedAt: "timestamptz[]", durationMillis: "bigint[]", responseStatus: "integer[]", responseBody: "text[]", error: "text[]", nextAttemptAt: "timestamptz[]", stopSince: "timestamptz[]", now: "timestamptz", leaseUntil: "timestamptz", limit: "integer", perTarget: "integer", callbacks: "integer", perWorkspace: "integer", workspaces: "bigint[]", held: "integer[]" },
    columns: { id: "bigint", lane_id: "bigint", workspace_id: "bigint", lease: "bigint", event_id: "text", body: "text", attempt: "integer", url: "text", secret_salt: "text?" },
  },
  "settle_attempts": {
    params: { now: "timestamptz", lockTimeout: "text", numberId: "bigint[]", lease: "bigint[]", messageId: "bigint[]", again: "boolean[]", notBefore: "timestamptz[]", refusals: "integer[]", pauses: "integer[]", pauseReason: "text[]", pauseUntil: "timestamptz[]", noRoom: "integer[]", noRoomUntil: "timestamptz[]", interrupted: "integer[]", unfinished: "text[]", state: "text[]", sentAt: "timestamptz[]", errorCode: "text[]", errorMessage: "text[]", foundMediaType: "text[]", endPhone: "text[]", givesBack: "boolean[]", eventId: "text[]", eventType: "text[]", eventAt: "timestamptz[]", eventBody: "text[]", callbackTarget: "text[]", callbackUrl: "text[]", callbackBody: "text[]", endsTurn: "boolean[]", pauseEventId: "text[]" },
    columns: { message_id: "bigint", queued: "boolean", next_id: "bigint?", lease_until: "timestamptz?", comes_again: "boolean" },
  },
  "settle_received_file": {
    params: { receivedId: "bigint", lease: "bigint", kept: "boolean", state: "text", file: "text", due: "timestamptz" },
    columns: { answer: "boolean" },
  },
  "share_calls": {
    params: { endpoint: "bigint", live: "bigint[]", ids: "bigint[]", now: "timestamptz", limit: "integer" },
    columns: { ids: "bigint[]?", dues: "timestamptz[]?" },
  },
  "stop_webhook_endpoints": {
    params: { endpoints: "bigint[]", reason: "text" },
    columns: { answer: "void?" },
  },
  "take_campaign_rows": {
    params: { cId: "bigint", cRevision: "bigint", cNow: "timestamptz", cQueueLimit: "integer", cLookAt: "timestamptz", cAwaits: "bigint[]", cAwaitsRoom: "bigint[]", cAwaitsGivenBack: "integer[]", cAwaitsAllowance: "boolean", tRow: "integer[]", tPhone: "text[]", rRow: "integer[]", rCode: "text[]", rField: "text[]", rFirstRow: "integer[]", now: "timestamptz[]", workspace: "bigint[]", number: "bigint[]", live: "boolean[]", count: "integer[]", dueAt: "timestamptz[]", allowance: "integer[]", quotaAt: "timestamptz[]", quotaCount: "integer[]", quotaLimit: "integer[]", quotaWindowMillis: "bigint[]", claimKeyId: "bigint[]", claimKey: "text[]", claimFingerprint: "text[]", claimToken: "text[]", mAcceptance: "integer[]", mPlatform: "text[]", mFromPhone: "text[]", mToKind: "text[]", mToPhone: "text[]", mToName: "text[]", mToContactId: "bigint[]", mText: "text[]", mMediaId: "bigint[]", mAttachmentId: "bigint[]", mMediaUrl: "text[]", mMediaType: "text[]", mMediaFileName: "text[]", mSendAt: "timestamptz[]", mExpiresAt: "timestamptz[]", mCreatedAt: "timestamptz[]", mDueAt: "timestamptz[]", mTransportId: "text[]", mCallbackUrl: "text[]", mReference: "text[]", mCampaignId: "bigint[]", mCampaignRow: "integer[]", mToChatId: "bigint[]", mToAddress: "text[]", mReplyReceivedId: "bigint[]", mReplyMessageId: "bigint[]", lockTimeout: "integer" },
    columns: { guard: "text?", ids: "bigint[]?" },
  },
  "turn_new_chats": {
    params: { numbers: "bigint[]", now: "timestamptz" },
    columns: { answer: "void?" },
  },
  "browser.use": {
    params: { now: "timestamptz", minuteStart: "timestamptz", hash: "text", tokenMark: "text" },
    columns: { workspace_id: "bigint?", role: "text", return_url: "text?", created_at: "timestamptz", expires_at: "timestamptz", minute_count: "integer" },
  },
  "browser.isValid": {
    params: { hash: "text", now: "timestamptz", tokenMark: "text" },
    columns: {},
  },
  "browser.end": {
    params: { hash: "text" },
    columns: {},
  },
  "browser.links": {
    params: { workspaceId: "bigint", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", role: "text", return_url: "text?", created_at: "timestamptz", code_expires_at: "timestamptz", used_at: "timestamptz?", expires_at: "timestamptz?", revoked_at: "timestamptz?" },
  },
  "browser.forgetSessions": {
    params: { now: "timestamptz", limit: "bigint" },
    columns: { hash: "text" },
  },
  "browser.forgetLinks": {
    params: { before: "timestamptz", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "campaign.get": {
    params: { id: "bigint", workspaceId: "bigint", mode: "text" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", state: "text", state_reason: "text?", revision: "bigint", is_holding: "boolean", asks_from_row: "boolean", running_since: "timestamptz?", look_at: "timestamptz?", created_at: "timestamptz", started_at: "timestamptz?", ended_at: "timestamptz?", name: "text", text: "text", media: "jsonb?", number_ids: "bigint[]?", reference: "text?", timezone: "text?", send_at: "timestamptz?", hours: "jsonb?", expires_at: "timestamptz?", quota_reserve: "integer", default_country_code: "text?", duplicates: "text", last_row: "integer", pending: "integer", refused: "integer", skipped: "integer", expired: "integer", taken: "json?" },
  },
  "campaign.made": {
    params: { id: "bigint" },
    columns: { id: "bigint", original: "jsonb?" },
  },
  "campaign.list": {
    params: { workspaceId: "bigint", mode: "text", states: "text[]", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", state: "text", state_reason: "text?", revision: "bigint", is_holding: "boolean", asks_from_row: "boolean", running_since: "timestamptz?", look_at: "timestamptz?", created_at: "timestamptz", started_at: "timestamptz?", ended_at: "timestamptz?", name: "text", text: "text", media: "jsonb?", number_ids: "bigint[]?", reference: "text?", timezone: "text?", send_at: "timestamptz?", hours: "jsonb?", expires_at: "timestamptz?", quota_reserve: "integer", default_country_code: "text?", duplicates: "text", last_row: "integer", pending: "integer", refused: "integer", skipped: "integer", expired: "integer", taken: "json?" },
  },
  "campaign.update": {
    params: { lookAt: "timestamptz", name: "text", text: "text", media: "jsonb", numberIds: "bigint[]", reference: "text", timezone: "text", sendAt: "timestamptz", hours: "jsonb", expiresAt: "timestamptz", quotaReserve: "integer", defaultCountryCode: "text", duplicates: "text", id: "bigint", revision: "bigint" },
    columns: { id: "bigint" },
  },
  "campaign.abandonUpload": {
    params: { id: "bigint", upload: "text" },
    columns: {},
  },
  "campaign.firstRows": {
    params: { keys: "text[]", upload: "text", id: "bigint" },
    columns: { key: "text", row: "integer" },
  },
  "campaign.putOff": {
    params: { lookAt: "timestamptz", now: "timestamptz", awaits: "bigint[]", awaitsRoom: "bigint[]", awaitsGivenBack: "integer[]", awaitsAllowance: "boolean", id: "bigint", revision: "bigint" },
    columns: {},
  },
  "campaign.due": {
    params: { now: "timestamptz", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "campaign.look": {
    params: { now: "timestamptz", fullQueue: "bigint", limit: "bigint", ids: "bigint[]" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", state: "text", state_reason: "text?", revision: "bigint", is_holding: "boolean", asks_from_row: "boolean", running_since: "timestamptz?", look_at: "timestamptz?", created_at: "timestamptz", started_at: "timestamptz?", ended_at: "timestamptz?", name: "text", text: "text", media: "jsonb?", number_ids: "bigint[]?", reference: "text?", timezone: "text?", send_at: "timestamptz?", hours: "jsonb?", expires_at: "timestamptz?", quota_reserve: "integer", default_country_code: "text?", duplicates: "text", w_id: "bigint", w_name: "text", w_demo: "boolean", w_account_disabled: "boolean", w_api_v2_enabled: "boolean", w_plan_name: "text?", w_plan_messages_remaining: "bigint?", w_plan_reminders: "boolean", w_plan_qr_code_api: "boolean", w_plan_max_numbers: "bigint?", w_plan_media_storage_bytes: "bigint", w_retention_days: "integer?", w_created_at: "timestamptz", w_deleted_at: "timestamptz?", pending: "integer", numbers: "json?", rows: "json?", next_row_at: "timestamptz?", next_expiry_at: "timestamptz?", has_waiting: "boolean" },
  },
  "campaign.waiting": {
    params: { id: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "campaign.settled": {
    params: {},
    columns: {},
  },
  "campaign.uploads": {
    params: { now: "timestamptz", limit: "bigint" },
    columns: { row: "integer" },
  },
  "campaign.endUploads": {
    params: { now: "timestamptz" },
    columns: {},
  },
  "campaign.removedRows": {
    params: { limit: "bigint" },
    columns: { row: "integer" },
  },
  "campaign.removed": {
    params: { now: "timestamptz" },
    columns: {},
  },
  "campaign.figures": {
    params: {},
    columns: { state: "text", campaigns: "bigint", pending: "bigint" },
  },
  "campaign.dueSince": {
    params: { now: "timestamptz" },
    columns: { due: "timestamptz?" },
  },
  "contact.insert": {
    params: { workspaceId: "bigint", name: "text", phone: "text", username: "text", address: "text", createdAt: "timestamptz" },
    columns: { id: "bigint", isNew: "boolean" },
  },
  "contact.list": {
    params: { workspaceId: "bigint", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", name: "text", phone: "text?", username: "text?", created_at: "timestamptz" },
  },
  "contact.delete": {
    params: { id: "bigint", workspaceId: "bigint" },
    columns: { id: "bigint" },
  },
  "conversation.get": {
    params: { workspaceId: "bigint" },
    columns: { groups: "boolean", retention_days: "integer", media: "text", max_file_bytes: "bigint", max_storage_bytes: "bigint", hold_new_chats: "boolean", since: "timestamptz", stored: "bigint", bytes: "bigint", oldest_at: "timestamptz?" },
  },
  "conversation.any": {
    params: {},
    columns: { answer: "boolean" },
  },
  "delivery.settle": {
    params: { lane: "bigint[]", results: "integer[]", deliveredAt: "timestamptz[]", delivery: "bigint[]", lease: "bigint[]", attemptedAt: "timestamptz[]", durationMillis: "bigint[]", responseStatus: "integer[]", responseBody: "text[]", error: "text[]", nextAttemptAt: "timestamptz[]", stopSince: "timestamptz[]" },
    columns: {},
  },
  "erasure.oldRecipients": {
    params: { owners: "bigint[]", befores: "timestamptz[]", limit: "bigint" },
    columns: { number_id: "bigint" },
  },
  "erasure.endedResults": {
    params: { owners: "bigint[]", befores: "timestamptz[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.endedChecks": {
    params: { owners: "bigint[]", befores: "timestamptz[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.endedRuns": {
    params: { owners: "bigint[]", befores: "timestamptz[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.endedReminders": {
    params: { owners: "bigint[]", befores: "timestamptz[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.endedCampaigns": {
    params: { owners: "bigint[]", befores: "timestamptz[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.endedCampaignRows": {
    params: { owners: "bigint[]", befores: "timestamptz[]", limit: "bigint" },
    columns: { row: "integer" },
  },
  "erasure.erasedCampaigns": {
    params: { owners: "bigint[]", befores: "timestamptz[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.workspaces": {
    params: { after: "bigint", limit: "bigint" },
    columns: { id: "bigint", retention_days: "integer?", deleted_at: "timestamptz?" },
  },
  "erasure.endpoints": {
    params: { ids: "bigint[]" },
    columns: { id: "bigint", workspace_id: "bigint" },
  },
  "erasure.testMessages": {
    params: { ids: "bigint[]", most: "bigint" },
    columns: { workspace_id: "bigint?", id: "bigint" },
  },
  "erasure.removedReports": {
    params: { limit: "bigint" },
    columns: { number_id: "bigint" },
  },
  "erasure.removedBehaviours": {
    params: { limit: "bigint" },
    columns: { number_id: "bigint" },
  },
  "erasure.removedRecipients": {
    params: { limit: "bigint" },
    columns: { number_id: "bigint" },
  },
  "erasure.numbers": {
    params: { limit: "bigint", now: "timestamptz" },
    columns: { id: "bigint" },
  },
  "erasure.removedSessions": {
    params: { before: "timestamptz", limit: "bigint" },
    columns: { number_id: "bigint" },
  },
  "erasure.revokedKeys": {
    params: { limit: "bigint", now: "timestamptz" },
    columns: { id: "bigint" },
  },
  "erasure.removedEndpoints": {
    params: { before: "timestamptz", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.keysOf": {
    params: { ids: "bigint[]" },
    columns: { id: "bigint" },
  },
  "erasure.keysOfWorkspaces": {
    params: { ids: "bigint[]", limit: "bigint", now: "timestamptz" },
    columns: { id: "bigint" },
  },
  "erasure.claims": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { key_id: "bigint" },
  },
  "erasure.records": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { key_id: "bigint" },
  },
  "erasure.checkResults": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.checks": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.contacts": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.reminders": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.removedReminders": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.campaignRows": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { row: "integer" },
  },
  "erasure.campaigns": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.mediaFiles": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.endpointsOfWorkspaces": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "erasure.figures": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { workspace_id: "bigint" },
  },
  "erasure.windows": {
    params: { ids: "bigint[]", limit: "bigint" },
    columns: { workspace_id: "bigint" },
  },
  "erasure.workspace": {
    params: { now: "timestamptz", ids: "bigint[]" },
    columns: {},
  },
  "figure.place": {
    params: { stream: "text" },
    columns: { position: "bigint" },
  },
  "figure.messages": {
    params: { after: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", at: "timestamptz", refused: "boolean" },
  },
  "figure.events": {
    params: { after: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", at: "timestamptz", type: "text", error_code: "text?", due_at: "timestamptz?" },
  },
  "figure.attempts": {
    params: { after: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint?", mode: "text?", at: "timestamptz", error: "text?" },
  },
  "figure.messagesOf": {
    params: { workspaceId: "bigint", mode: "text", after: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", at: "timestamptz", refused: "boolean" },
  },
  "figure.eventsOf": {
    params: { workspaceId: "bigint", mode: "text", after: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", at: "timestamptz", type: "text", error_code: "text?", due_at: "timestamptz?" },
  },
  "figure.attemptsOf": {
    params: { after: "bigint", limit: "bigint", workspaceId: "bigint", mode: "text" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", at: "timestamptz", error: "text?" },
  },
  "figure.hours": {
    params: { workspaceId: "bigint", mode: "text", from: "timestamptz", until: "timestamptz" },
    columns: { hours: "json", places: "json" },
  },
  "figure.present": {
    params: { mode: "text", now: "timestamptz", countAtMost: "bigint", workspaceId: "bigint" },
    columns: { queued: "bigint", scheduled: "bigint", oldest_due_at: "timestamptz?", used_bytes: "bigint" },
  },
  "figure.forget": {
    params: { before: "timestamptz", limit: "bigint" },
    columns: { workspace_id: "bigint" },
  },
  "idempotency.release": {
    params: { claimKeyId: "bigint", claimKey: "text", claimToken: "text" },
    columns: {},
  },
  "idempotency.forgetRecords": {
    params: { now: "timestamptz", limit: "bigint" },
    columns: { key_id: "bigint" },
  },
  "idempotency.forgetClaims": {
    params: { now: "timestamptz", limit: "bigint" },
    columns: { key_id: "bigint" },
  },
  "key.admit": {
    params: { hash: "text[]", version: "integer[]", now: "timestamptz[]", minuteStart: "timestamptz[]", dayStart: "timestamptz[]", address: "text[]", count: "integer[]", minuteLimit: "integer" },
    columns: { place: "bigint", minute_count: "integer?", day_count: "integer?", id: "bigint", workspace_id: "bigint", version: "smallint", name: "text", mode: "text", scopes: "text[]", number_ids: "bigint[]?", expires_at: "timestamptz?", last4: "text", created_at: "timestamptz", revoked_at: "timestamptz?", last_used_at: "timestamptz?", last_used_ip: "text?", w_id: "bigint", w_name: "text", w_demo: "boolean", w_account_disabled: "boolean", w_api_v2_enabled: "boolean", w_plan_name: "text?", w_plan_messages_remaining: "bigint?", w_plan_reminders: "boolean", w_plan_qr_code_api: "boolean", w_plan_max_numbers: "bigint?", w_plan_media_storage_bytes: "bigint", w_retention_days: "integer?", w_created_at: "timestamptz", w_deleted_at: "timestamptz?" },
  },
  "key.admitV1": {
    params: { hash: "text[]", workspaceId: "bigint[]", now: "timestamptz[]", address: "text[]", minuteStart: "timestamptz" },
    columns: { place: "bigint", counts: "boolean", minute_count: "integer?", id: "bigint", workspace_id: "bigint", version: "smallint", name: "text", mode: "text", scopes: "text[]", number_ids: "bigint[]?", expires_at: "timestamptz?", last4: "text", created_at: "timestamptz", revoked_at: "timestamptz?", last_used_at: "timestamptz?", last_used_ip: "text?", w_id: "bigint", w_name: "text", w_demo: "boolean", w_account_disabled: "boolean", w_api_v2_enabled: "boolean", w_plan_name: "text?", w_plan_messages_remaining: "bigint?", w_plan_reminders: "boolean", w_plan_qr_code_api: "boolean", w_plan_max_numbers: "bigint?", w_plan_media_storage_bytes: "bigint", w_retention_days: "integer?", w_created_at: "timestamptz", w_deleted_at: "timestamptz?" },
  },
  "key.lockWorkspace": {
    params: { workspaceId: "bigint" },
    columns: {},
  },
  "key.insert": {
    params: { workspaceId: "bigint", version: "smallint", name: "text", mode: "text", scopes: "text[]", numberIds: "bigint[]", expiresAt: "timestamptz", last4: "text", createdAt: "timestamptz", hash: "text", limit: "integer" },
    columns: { id: "bigint", workspace_id: "bigint", version: "smallint", name: "text", mode: "text", scopes: "text[]", number_ids: "bigint[]?", expires_at: "timestamptz?", last4: "text", hash: "text", created_at: "timestamptz", revoked_at: "timestamptz?", erased_at: "timestamptz?", last_used_at: "timestamptz?", last_used_ip: "text?" },
  },
  "key.list": {
    params: { workspaceId: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", version: "smallint", name: "text", mode: "text", scopes: "text[]", number_ids: "bigint[]?", expires_at: "timestamptz?", last4: "text", created_at: "timestamptz", revoked_at: "timestamptz?", last_used_at: "timestamptz?", last_used_ip: "text?" },
  },
  "key.revoke": {
    params: { workspaceId: "bigint", id: "bigint", now: "timestamptz" },
    columns: { id: "bigint", workspace_id: "bigint", version: "smallint", name: "text", mode: "text", scopes: "text[]", number_ids: "bigint[]?", expires_at: "timestamptz?", last4: "text", created_at: "timestamptz", revoked_at: "timestamptz?", last_used_at: "timestamptz?", last_used_ip: "text?" },
  },
  "lane.mayAwaitNewChats": {
    params: { number: "bigint", now: "timestamptz", message: "bigint" },
    columns: { answer: "boolean" },
  },
  "lane.renew": {
    params: { numbers: "bigint[]", leases: "bigint[]", lockTimeout: "text", leaseUntil: "timestamptz" },
    columns: { number_id: "bigint" },
  },
  "linking.number": {
    params: { id: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", phone: "text?", label: "text", platform: "text", status: "text", login_method: "text", created_at: "timestamptz" },
  },
  "linking.get": {
    params: { numberId: "bigint" },
    columns: { id: "text", mode: "text", method: "text", phone: "text?", requested_at: "timestamptz", ends_at: "timestamptz", links_at: "timestamptz?", qr_text: "text?", qr_expires_at: "timestamptz?", pairing_code: "text?", pairing_code_expires_at: "timestamptz?", linking: "boolean", number_id: "bigint", phone_before: "text?" },
  },
  "linking.claim": {
    params: { workspaces: "bigint[]", held: "integer[]", perWorkspace: "integer", now: "timestamptz", of: "bigint", shards: "bigint[]", limit: "bigint", leaseUntil: "timestamptz" },
    columns: { id: "text", mode: "text", method: "text", phone: "text?", requested_at: "timestamptz", ends_at: "timestamptz", links_at: "timestamptz?", qr_text: "text?", qr_expires_at: "timestamptz?", pairing_code: "text?", pairing_code_expires_at: "timestamptz?", linking: "boolean", number_id: "bigint", phone_before: "text?", lease: "bigint", workspace_id: "bigint" },
  },
  "linking.renew": {
    params: { leaseUntil: "timestamptz", ids: "text[]", leases: "bigint[]" },
    columns: { id: "text" },
  },
  "linking.show": {
    params: { id: "text", lease: "bigint", qrText: "text", qrExpiresAt: "timestamptz", pairingCode: "text", pairingCodeExpiresAt: "timestamptz", linking: "boolean", newWorkspace: "bigint", newTarget: "text", newUrl: "text", newCreatedAt: "timestamptz", newEventId: "text", newType: "text", newBody: "text" },
    columns: { id: "text" },
  },
  "linking.taken": {
    params: { id: "text", now: "timestamptz" },
    columns: { id: "text" },
  },
  "linking.lapsed": {
    params: { now: "timestamptz", limit: "bigint" },
    columns: { id: "text", mode: "text", method: "text", phone: "text?", requested_at: "timestamptz", ends_at: "timestamptz", links_at: "timestamptz?", qr_text: "text?", qr_expires_at: "timestamptz?", pairing_code: "text?", pairing_code_expires_at: "timestamptz?", linking: "boolean", number_id: "bigint", phone_before: "text?" },
  },
  "linking.dueTest": {
    params: { now: "timestamptz", limit: "bigint" },
    columns: { id: "text", mode: "text", method: "text", phone: "text?", requested_at: "timestamptz", ends_at: "timestamptz", links_at: "timestamptz?", qr_text: "text?", qr_expires_at: "timestamptz?", pairing_code: "text?", pairing_code_expires_at: "timestamptz?", linking: "boolean", number_id: "bigint", phone_before: "text?" },
  },
  "media.newestStorageKey": {
    params: {},
    columns: { storage_key: "text" },
  },
  "media.discard": {
    params: { id: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", file_name: "text", type: "text", mime_type: "text", size: "bigint", storage_key: "text", created_at: "timestamptz" },
  },
  "media.delete": {
    params: { id: "bigint", workspaceId: "bigint", mode: "text" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", file_name: "text", type: "text", mime_type: "text", size: "bigint", storage_key: "text", created_at: "timestamptz" },
  },
  "media.get": {
    params: { id: "bigint", workspaceId: "bigint", mode: "text" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", file_name: "text", type: "text", mime_type: "text", size: "bigint", storage_key: "text", created_at: "timestamptz" },
  },
  "media.list": {
    params: { workspaceId: "bigint", mode: "text", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", file_name: "text", type: "text", mime_type: "text", size: "bigint", storage_key: "text", created_at: "timestamptz" },
  },
  "media.listOfType": {
    params: { workspaceId: "bigint", mode: "text", type: "text", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", file_name: "text", type: "text", mime_type: "text", size: "bigint", storage_key: "text", created_at: "timestamptz" },
  },
  "media.find": {
    params: { id: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", file_name: "text", type: "text", mime_type: "text", size: "bigint", storage_key: "text", created_at: "timestamptz", deleted: "boolean" },
  },
  "media.missing": {
    params: { ids: "bigint[]" },
    columns: { id: "bigint?" },
  },
  "media.detach": {
    params: { id: "bigint" },
    columns: { id: "bigint" },
  },
  "media.sweepAttachments": {
    params: { unusedSince: "timestamptz", now: "timestamptz" },
    columns: {},
  },
  "media.removed": {
    params: { ids: "bigint[]" },
    columns: {},
  },
  "media.forget": {
    params: { createdBefore: "timestamptz", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "messageList.ofWorkspace": {
    params: { workspaceId: "bigint", mode: "text", before: "bigint", since: "timestamptz", until: "timestamptz", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "messageList.ofStates": {
    params: { workspaceId: "bigint", mode: "text", before: "bigint", since: "timestamptz", until: "timestamptz", states: "text[]", queued: "boolean", now: "timestamptz", scheduled: "boolean", limit: "bigint", ended: "text[]" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "messageList.ofNumbers": {
    params: { ended: "text[]", mode: "text", before: "bigint", since: "timestamptz", workspaceId: "bigint", until: "timestamptz", limit: "bigint", numbers: "bigint[]", queued: "boolean", now: "timestamptz", scheduled: "boolean" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "messageList.ofPhone": {
    params: { states: "text[]", workspaceId: "bigint", phone: "text", queued: "boolean", now: "timestamptz", scheduled: "boolean", numbers: "bigint[]", mode: "text", before: "bigint", since: "timestamptz", until: "timestamptz", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "messageList.ofReference": {
    params: { states: "text[]", workspaceId: "bigint", reference: "text", queued: "boolean", now: "timestamptz", scheduled: "boolean", phone: "text", numbers: "bigint[]", mode: "text", before: "bigint", since: "timestamptz", until: "timestamptz", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "messageList.ofError": {
    params: { workspaceId: "bigint", error: "text", ended: "text[]", phone: "text", reference: "text", numbers: "bigint[]", mode: "text", before: "bigint", since: "timestamptz", until: "timestamptz", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "message.nextId": {
    params: {},
    columns: { id: "bigint" },
  },
  "message.loadAcceptance": {
    params: { queries: "jsonb" },
    columns: { facts: "json?" },
  },
  "message.get": {
    params: { id: "bigint", workspaceId: "bigint", mode: "text", restriction: "bigint[]" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?", in_flight: "boolean" },
  },
  "message.byIds": {
    params: { ids: "bigint[]" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "message.expired": {
    params: { now: "timestamptz", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "message.dueTest": {
    params: { now: "timestamptz", perWorkspace: "integer", limit: "integer" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "message.orphaned": {
    params: { limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "message.byTransportId": {
    params: { transportId: "text", numberId: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "message.tick": {
    params: { transportId: "text", numberId: "bigint", from: "text[]", announces: "boolean", state: "text", now: "timestamptz" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?", announced: "boolean?" },
  },
  "message.earlyTicks": {
    params: { limit: "bigint" },
    columns: { number_id: "bigint", transport_id: "text", tick: "text?" },
  },
  "message.dueTestTicks": {
    params: { now: "timestamptz", limit: "bigint" },
    columns: { number_id: "bigint", transport_id: "text", tick: "text" },
  },
  "message.timeline": {
    params: { now: "timestamptz", mostAhead: "bigint", id: "bigint", workspaceId: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?", delivered_at: "timestamptz?", read_at: "timestamptz?", event_id: "text?", event_type: "text?", event_at: "timestamptz?", ahead: "bigint", new_chats: "json?" },
  },
  "message.attempts": {
    params: { id: "bigint", limit: "bigint" },
    columns: { attempted_at: "timestamptz", unfinished: "text", next_attempt_at: "timestamptz?" },
  },
  "message.deliveries": {
    params: { id: "bigint", limit: "bigint" },
    columns: { attempted_at: "timestamptz", webhook_id: "bigint?", url: "text?", attempt: "integer", response_status: "integer?", error: "text?", duration_millis: "bigint", next_attempt_at: "timestamptz?" },
  },
  "message.waitingIds": {
    params: { mode: "text", workspaceId: "bigint", from: "bigint", phone: "text", queued: "boolean", now: "timestamptz", scheduled: "boolean", since: "timestamptz", until: "timestamptz", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "message.found": {
    params: { ids: "bigint[]", workspaceId: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?", in_flight: "boolean" },
  },
  "migration.isInstalled": {
    params: { name: "text" },
    columns: { installed: "boolean?" },
  },
  "migration.usersOf": {
    params: { schema: "text" },
    columns: { role: "text?" },
  },
  "migration.noteUse": {
    params: { name: "text", now: "timestamptz", migration: "integer" },
    columns: {},
  },
  "migration.forgetUnused": {
    params: { before: "timestamptz" },
    columns: { name: "text" },
  },
  "migration.forgetOlder": {
    params: { oldest: "integer" },
    columns: { name: "text" },
  },
  "migration.tryLock": {
    params: { schema: "text", lock: "bigint" },
    columns: { done: "boolean?" },
  },
  "migration.trySessionLock": {
    params: { schema: "text", lock: "bigint" },
    columns: { done: "boolean?" },
  },
  "migration.releaseSessionLock": {
    params: { schema: "text", lock: "bigint" },
    columns: { pg_advisory_unlock: "boolean?" },
  },
  "migration.schemaState": {
    params: { schema: "text" },
    columns: { schema: "boolean?", tables: "boolean?" },
  },
  "migration.appliedMigrations": {
    params: {},
    columns: { id: "integer", name: "text", version: "text", oldest: "integer?" },
  },
  "migration.insertMigration": {
    params: { id: "integer", name: "text", now: "timestamptz", version: "text", oldest: "integer" },
    columns: {},
  },
  "migration.indexState": {
    params: { schema: "text", name: "text" },
    columns: { valid: "boolean?" },
  },
  "migration.missingGrants": {
    params: { schema: "text", tables: "text[]", code: "text" },
    columns: { what: "text?", role: "text?" },
  },
  "news.marks": {
    params: { workspaces: "bigint[]", recent: "bigint", most: "bigint" },
    columns: { workspace_id: "bigint", topic: "text", id: "bigint", mark: "text" },
  },
  "news.changedMessages": {
    params: { notBefore: "timestamptz", position: "bigint", workspaceId: "bigint", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "nextDue.lanes": {
    params: { saturated: "bigint[]", of: "bigint", shards: "bigint[]" },
    columns: { due: "timestamptz?" },
  },
  "nextDue.expiry": {
    params: {},
    columns: { due: "timestamptz?" },
  },
  "nextDue.test_messages": {
    params: {},
    columns: { due: "timestamptz?" },
  },
  "nextDue.orphaned": {
    params: {},
    columns: { due: "timestamptz?" },
  },
  "nextDue.linking": {
    params: { saturated: "bigint[]", of: "bigint", shards: "bigint[]" },
    columns: { due: "timestamptz?" },
  },
  "nextDue.reminders": {
    params: {},
    columns: { due: "timestamptz?" },
  },
  "nextDue.campaigns": {
    params: {},
    columns: { due: "timestamptz?" },
  },
  "nextDue.pauses": {
    params: {},
    columns: { due: "timestamptz?" },
  },
  "nextDue.copies": {
    params: {},
    columns: { due: "timestamptz?" },
  },
  "nextDue.read_marks": {
    params: { of: "bigint", shards: "bigint[]" },
    columns: { due: "timestamptz?" },
  },
  "nextDue.deliveries": {
    params: { saturated: "bigint[]" },
    columns: { due: "timestamptz?" },
  },
  "nextDue.number_checks": {
    params: { saturated: "bigint[]", of: "bigint", shards: "bigint[]" },
    columns: { due: "timestamptz?" },
  },
  "nextDue.files": {
    params: { saturated: "bigint[]", of: "bigint", shards: "bigint[]" },
    columns: { due: "timestamptz?" },
  },
  "nextDue.earliest": {
    params: {},
    columns: { earliest: "json?" },
  },
  "nextDue.workload": {
    params: { now: "timestamptz", most: "integer[]", whole: "integer[]" },
    columns: { workload: "json?" },
  },
  "nextDue.notify": {
    params: { channel: "text", works: "text[]" },
    columns: { pg_notify: "void?" },
  },
  "numberCheck.again": {
    params: { due: "timestamptz", tries: "integer", id: "bigint", lease: "bigint" },
    columns: { done: "boolean?" },
  },
  "numberCheck.get": {
    params: { workspaceId: "bigint", mode: "text", restriction: "bigint[]", id: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", name: "text?", status: "text", total: "integer", checked: "integer", registered: "integer", not_registered: "integer", created_at: "timestamptz", completed_at: "timestamptz?" },
  },
  "numberCheck.list": {
    params: { workspaceId: "bigint", mode: "text", restriction: "bigint[]", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", name: "text?", status: "text", total: "integer", checked: "integer", registered: "integer", not_registered: "integer", created_at: "timestamptz", completed_at: "timestamptz?" },
  },
  "numberCheck.results": {
    params: { id: "bigint", statuses: "text[]", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", phone: "text", status: "text", checked_at: "timestamptz?" },
  },
  "numberCheck.forgetResults": {
    params: { before: "timestamptz", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "numberCheck.forget": {
    params: { before: "timestamptz", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "number.report": {
    params: { now: "timestamptz", numberId: "bigint[]", state: "text[]", reason: "text[]", since: "timestamptz[]", lastSeenAt: "timestamptz[]", reconnects: "integer[]" },
    columns: {},
  },
  "number.connections": {
    params: { now: "timestamptz", fits: "integer", windowMillis: "bigint", workspaceId: "bigint", id: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", phone: "text?", label: "text", platform: "text", status: "text", login_method: "text", created_at: "timestamptz", status_since: "timestamptz?", status_reason: "text?", report_number_id: "bigint?", report_state: "text?", report_reason: "text?", report_since: "timestamptz?", report_last_seen_at: "timestamptz?", report_reconnects: "integer?", report_at: "timestamptz?", waiting: "bigint", sent: "bigint", last_sent_at: "timestamptz?", pause_reason: "text?", paused_until: "timestamptz?", is_disabled: "boolean", is_sending: "boolean", first_due_at: "timestamptz?", hold_until: "timestamptz?", limited_until: "timestamptz?", no_room_until: "timestamptz?", planned: "integer", room_at: "timestamptz?", hours: "integer[]" },
  },
  "number.lockCampaigns": {
    params: { workspaceId: "bigint" },
    columns: {},
  },
  "number.lockWorkspace": {
    params: { workspaceId: "bigint" },
    columns: {},
  },
  "number.insert": {
    params: { workspaceId: "bigint", createdAt: "timestamptz", mode: "text", phone: "text", label: "text", platform: "text", status: "text", loginMethod: "text", pacing: "integer[]" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", phone: "text?", label: "text", platform: "text", status: "text", login_method: "text", created_at: "timestamptz" },
  },
  "number.get": {
    params: { id: "bigint", workspaceId: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", phone: "text?", label: "text", platform: "text", status: "text", login_method: "text", created_at: "timestamptz" },
  },
  "number.list": {
    params: { workspaceId: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", phone: "text?", label: "text", platform: "text", status: "text", login_method: "text", created_at: "timestamptz" },
  },
  "number.settings": {
    params: { ids: "bigint[]" },
    columns: { id: "bigint", pacing: "integer[]?", proxy_host: "text?", proxy_port: "integer?", proxy_url: "text?" },
  },
  "number.lockPacing": {
    params: { id: "bigint", workspaceId: "bigint" },
    columns: { pacing: "integer[]?" },
  },
  "number.change": {
    params: { label: "text", keepsProxy: "boolean", proxyHost: "text", proxyPort: "integer", proxyUrl: "text", id: "bigint", workspaceId: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", phone: "text?", label: "text", platform: "text", status: "text", login_method: "text", created_at: "timestamptz" },
  },
  "number.callback": {
    params: { id: "bigint" },
    columns: { callback_url: "text?" },
  },
  "number.lockLaneToRestrict": {
    params: { id: "bigint" },
    columns: { number_id: "bigint" },
  },
  "number.lockToRestrict": {
    params: { id: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", phone: "text?", label: "text", platform: "text", status: "text", login_method: "text", created_at: "timestamptz" },
  },
  "number.restrictions": {
    params: { id: "bigint", workspaceId: "bigint" },
    columns: { state: "text", until: "timestamptz?", reason: "text?", chat_limit: "bigint?", chats_used: "bigint?", resets_at: "timestamptz?", warning: "text?", checked_at: "timestamptz?", waits_until: "timestamptz?", waits_endlessly: "boolean?", is_reported: "boolean" },
  },
  "outbox.read": {
    params: { after: "bigint", limit: "bigint" },
    columns: { id: "bigint", event_id: "text", type: "text", workspace_id: "bigint", mode: "text", message_id: "bigint?", created_at: "timestamptz", body: "text", reference: "text?" },
  },
  "outbox.latest": {
    params: {},
    columns: { latest: "bigint" },
  },
  "outbox.underWay": {
    params: {},
    columns: { id: "bigint" },
  },
  "outbox.beginsNow": {
    params: {},
    columns: { id: "bigint" },
  },
  "outbox.forget": {
    params: { limit: "bigint", before: "timestamptz" },
    columns: { id: "bigint" },
  },
  "readMark.claim": {
    params: { now: "timestamptz", of: "bigint", shards: "bigint[]", limit: "bigint", until: "timestamptz", most: "bigint" },
    columns: { id: "bigint", number_id: "bigint", platform: "text", read_up_to: "bigint", group_id: "text?", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", messages: "json" },
  },
  "readMark.settle": {
    params: { upTo: "bigint", at: "timestamptz", chatId: "bigint" },
    columns: {},
  },
  "readMark.postpone": {
    params: { until: "timestamptz", chatId: "bigint" },
    columns: {},
  },
  "readMark.ofNumber": {
    params: { numberId: "bigint" },
    columns: { id: "bigint", marked_up_to: "bigint", marked_at: "timestamptz" },
  },
  "receivedFile.find": {
    params: { id: "bigint" },
    columns: { state: "text", id: "bigint?", workspace_id: "bigint?", mode: "text?", file_name: "text?", type: "text?", mime_type: "text?", size: "bigint?", storage_key: "text?", created_at: "timestamptz?" },
  },
  "receivedFile.request": {
    params: { now: "timestamptz", id: "bigint" },
    columns: { received_message_id: "bigint" },
  },
  "received.ofWorkspace": {
    params: { workspaceId: "bigint", mode: "text", before: "bigint", kind: "text", since: "timestamptz", until: "timestamptz", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", sequence: "bigint", number_id: "bigint", number_phone: "text?", platform: "text", chat_id: "bigint", chat_type: "text", chat_name: "text?", from_me: "boolean", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", kind: "text", text: "text", content: "json?", file: "json?", quoted_received_id: "bigint?", quoted_message_id: "bigint?", quote_text: "text?", sent_at: "timestamptz", received_at: "timestamptz", edited_at: "timestamptz?", revoked_at: "timestamptz?", reactions: "json?" },
  },
  "received.ofNumbers": {
    params: { numbers: "bigint[]", workspaceId: "bigint", mode: "text", before: "bigint", kind: "text", since: "timestamptz", until: "timestamptz", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", sequence: "bigint", number_id: "bigint", number_phone: "text?", platform: "text", chat_id: "bigint", chat_type: "text", chat_name: "text?", from_me: "boolean", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", kind: "text", text: "text", content: "json?", file: "json?", quoted_received_id: "bigint?", quoted_message_id: "bigint?", quote_text: "text?", sent_at: "timestamptz", received_at: "timestamptz", edited_at: "timestamptz?", revoked_at: "timestamptz?", reactions: "json?" },
  },
  "received.ofChat": {
    params: { chatId: "bigint", workspaceId: "bigint", mode: "text", numbers: "bigint[]", before: "bigint", kind: "text", since: "timestamptz", until: "timestamptz", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", sequence: "bigint", number_id: "bigint", number_phone: "text?", platform: "text", chat_id: "bigint", chat_type: "text", chat_name: "text?", from_me: "boolean", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", kind: "text", text: "text", content: "json?", file: "json?", quoted_received_id: "bigint?", quoted_message_id: "bigint?", quote_text: "text?", sent_at: "timestamptz", received_at: "timestamptz", edited_at: "timestamptz?", revoked_at: "timestamptz?", reactions: "json?" },
  },
  "received.after": {
    params: { numberId: "bigint", workspaceId: "bigint", mode: "text", numbers: "bigint[]", after: "bigint", kind: "text", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", sequence: "bigint", number_id: "bigint", number_phone: "text?", platform: "text", chat_id: "bigint", chat_type: "text", chat_name: "text?", from_me: "boolean", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", kind: "text", text: "text", content: "json?", file: "json?", quoted_received_id: "bigint?", quoted_message_id: "bigint?", quote_text: "text?", sent_at: "timestamptz", received_at: "timestamptz", edited_at: "timestamptz?", revoked_at: "timestamptz?", reactions: "json?" },
  },
  "received.get": {
    params: { id: "bigint", workspaceId: "bigint", mode: "text", numbers: "bigint[]" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", sequence: "bigint", number_id: "bigint", number_phone: "text?", platform: "text", chat_id: "bigint", chat_type: "text", chat_name: "text?", from_me: "boolean", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", kind: "text", text: "text", content: "json?", file: "json?", quoted_received_id: "bigint?", quoted_message_id: "bigint?", quote_text: "text?", sent_at: "timestamptz", received_at: "timestamptz", edited_at: "timestamptz?", revoked_at: "timestamptz?", reactions: "json?" },
  },
  "received.change": {
    params: { text: "text", content: "text", file: "text", editedAt: "timestamptz", revokedAt: "timestamptz", id: "bigint" },
    columns: {},
  },
  "received.chats": {
    params: { workspaceId: "bigint", mode: "text", before: "bigint", unread: "boolean", limit: "bigint" },
    columns: { id: "bigint", number_id: "bigint", type: "text", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", activity: "bigint", last_received_at: "timestamptz?", last_sent_at: "timestamptz?", unread: "bigint", read_up_to: "bigint?", merged_into: "bigint?" },
  },
  "received.chatsOfNumbers": {
    params: { numbers: "bigint[]", workspaceId: "bigint", mode: "text", before: "bigint", unread: "boolean", limit: "bigint" },
    columns: { id: "bigint", number_id: "bigint", type: "text", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", activity: "bigint", last_received_at: "timestamptz?", last_sent_at: "timestamptz?", unread: "bigint", read_up_to: "bigint?", merged_into: "bigint?" },
  },
  "received.chatsOfPhone": {
    params: { phone: "text", workspaceId: "bigint", mode: "text", numbers: "bigint[]", before: "bigint", unread: "boolean", limit: "bigint" },
    columns: { id: "bigint", number_id: "bigint", type: "text", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", activity: "bigint", last_received_at: "timestamptz?", last_sent_at: "timestamptz?", unread: "bigint", read_up_to: "bigint?", merged_into: "bigint?" },
  },
  "received.chat": {
    params: { id: "bigint", workspaceId: "bigint", mode: "text", numbers: "bigint[]" },
    columns: { id: "bigint", number_id: "bigint", type: "text", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", activity: "bigint", last_received_at: "timestamptz?", last_sent_at: "timestamptz?", unread: "bigint", read_up_to: "bigint?", merged_into: "bigint?" },
  },
  "received.quotedReceived": {
    params: { id: "bigint", numberId: "bigint" },
    columns: { remote_id: "text", from_me: "boolean", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", text: "text", sent_at: "timestamptz" },
  },
  "received.quotedSent": {
    params: { id: "bigint", numberId: "bigint" },
    columns: { transport_id: "text", text: "text", sent_at: "timestamptz?" },
  },
  "received.entries": {
    params: { chatId: "bigint", at: "timestamptz", receivedBefore: "bigint", limit: "bigint", sentBefore: "bigint" },
    columns: { at: "timestamptz", is_sent: "boolean", id: "bigint" },
  },
  "received.byIds": {
    params: { ids: "bigint[]" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", sequence: "bigint", number_id: "bigint", number_phone: "text?", platform: "text", chat_id: "bigint", chat_type: "text", chat_name: "text?", from_me: "boolean", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", kind: "text", text: "text", content: "json?", file: "json?", quoted_received_id: "bigint?", quoted_message_id: "bigint?", quote_text: "text?", sent_at: "timestamptz", received_at: "timestamptz", edited_at: "timestamptz?", revoked_at: "timestamptz?", reactions: "json?" },
  },
  "reminder.get": {
    params: { id: "bigint", workspaceId: "bigint", mode: "text", restriction: "bigint[]" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", next_run_at: "timestamptz?", created_at: "timestamptz", name: "text", active: "boolean", recipient: "jsonb", number_id: "bigint?", text: "text", media: "jsonb?", cron: "text", timezone: "text", revision: "bigint", lastRun: "json?" },
  },
  "reminder.toRun": {
    params: { id: "bigint", workspaceId: "bigint", mode: "text", restriction: "bigint[]" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", next_run_at: "timestamptz?", created_at: "timestamptz", name: "text", active: "boolean", recipient: "jsonb", number_id: "bigint?", text: "text", media: "jsonb?", cron: "text", timezone: "text", revision: "bigint", lastRun: "json?", previous_number_id: "bigint?" },
  },
  "reminder.made": {
    params: { id: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", next_run_at: "timestamptz?", created_at: "timestamptz", name: "text", active: "boolean", recipient: "jsonb", number_id: "bigint?", text: "text", media: "jsonb?", cron: "text", timezone: "text", revision: "bigint", lastRun: "json?", original: "jsonb?" },
  },
  "reminder.listOfAllModes": {
    params: { workspaceId: "bigint", restriction: "bigint[]", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", next_run_at: "timestamptz?", created_at: "timestamptz", name: "text", active: "boolean", recipient: "jsonb", number_id: "bigint?", text: "text", media: "jsonb?", cron: "text", timezone: "text", revision: "bigint", lastRun: "json?" },
  },
  "reminder.listOfAllModesByActivity": {
    params: { workspaceId: "bigint", restriction: "bigint[]", active: "boolean", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", next_run_at: "timestamptz?", created_at: "timestamptz", name: "text", active: "boolean", recipient: "jsonb", number_id: "bigint?", text: "text", media: "jsonb?", cron: "text", timezone: "text", revision: "bigint", lastRun: "json?" },
  },
  "reminder.list": {
    params: { workspaceId: "bigint", mode: "text", restriction: "bigint[]", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", next_run_at: "timestamptz?", created_at: "timestamptz", name: "text", active: "boolean", recipient: "jsonb", number_id: "bigint?", text: "text", media: "jsonb?", cron: "text", timezone: "text", revision: "bigint", lastRun: "json?" },
  },
  "reminder.listByActivity": {
    params: { workspaceId: "bigint", mode: "text", restriction: "bigint[]", active: "boolean", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", next_run_at: "timestamptz?", created_at: "timestamptz", name: "text", active: "boolean", recipient: "jsonb", number_id: "bigint?", text: "text", media: "jsonb?", cron: "text", timezone: "text", revision: "bigint", lastRun: "json?" },
  },
  "reminder.update": {
    params: { name: "text", active: "boolean", recipient: "jsonb", numberId: "bigint", text: "text", media: "jsonb", cron: "text", timezone: "text", nextRunAt: "timestamptz", id: "bigint", revision: "bigint" },
    columns: { id: "bigint" },
  },
  "reminder.remove": {
    params: { now: "timestamptz", id: "bigint", workspaceId: "bigint", mode: "text", restriction: "bigint[]" },
    columns: { id: "bigint" },
  },
  "reminder.due": {
    params: { now: "timestamptz", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", next_run_at: "timestamptz?", created_at: "timestamptz", name: "text", active: "boolean", recipient: "jsonb", number_id: "bigint?", text: "text", media: "jsonb?", cron: "text", timezone: "text", revision: "bigint", lastRun: "json?", previous_number_id: "bigint?", w_id: "bigint", w_name: "text", w_demo: "boolean", w_account_disabled: "boolean", w_api_v2_enabled: "boolean", w_plan_name: "text?", w_plan_messages_remaining: "bigint?", w_plan_reminders: "boolean", w_plan_qr_code_api: "boolean", w_plan_max_numbers: "bigint?", w_plan_media_storage_bytes: "bigint", w_retention_days: "integer?", w_created_at: "timestamptz", w_deleted_at: "timestamptz?" },
  },
  "reminder.runs": {
    params: { id: "bigint", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", ran_at: "timestamptz", due_at: "timestamptz", outcome: "text", message_id: "bigint?", code: "text?" },
  },
  "reminder.forgetRuns": {
    params: { before: "timestamptz", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "reminder.forget": {
    params: { before: "timestamptz", limit: "bigint" },
    columns: { id: "bigint" },
  },
  "restore.epoch": {
    params: {},
    columns: { epoch: "integer?", hasAccepted: "boolean?" },
  },
  "restore.counts": {
    params: {},
    columns: { workspaceId: "bigint", messages: "bigint", reminders: "bigint", campaigns: "bigint" },
  },
  "restore.list": {
    params: { before: "bigint", limit: "bigint", workspaceId: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "restore.messages": {
    params: { workspaceId: "bigint", from: "bigint", since: "timestamptz", until: "timestamptz", dueUntil: "timestamptz", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "restore.byIds": {
    params: { ids: "bigint[]", workspaceId: "bigint", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", number_id: "bigint", platform: "text", from_phone: "text?", to_kind: "text", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz", due_at: "timestamptz", transport_id: "text", callback_url: "text?", reference: "text?", state: "text", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "restore.reminders": {
    params: { workspaceId: "bigint", from: "bigint", since: "timestamptz", until: "timestamptz", limit: "bigint" },
    columns: { id: "bigint", workspace_id: "bigint", mode: "text", next_run_at: "timestamptz?", created_at: "timestamptz", name: "text", active: "boolean", recipient: "jsonb", number_id: "bigint?", text: "text", media: "jsonb?", cron: "text", timezone: "text", revision: "bigint", lastRun: "json?", held_run_at: "timestamptz" },
  },
  "restore.isHeld": {
    params: { id: "bigint" },
    columns: { held: "boolean?" },
  },
  "restore.position": {
    params: { schema: "text", accepted: "bigint[]", ended: "bigint[]" },
    columns: { position: "json?" },
  },
  "service.getOrCreateSecret": {
    params: { name: "text", candidate: "text" },
    columns: { value: "text" },
  },
  "service.getSecret": {
    params: { name: "text" },
    columns: { value: "text" },
  },
  "service.replaceSecret": {
    params: { value: "text", name: "text", before: "text" },
    columns: {},
  },
  "service.identity": {
    params: { place: "text", mark: "text" },
    columns: { identity: "text" },
  },
  "service.getSalt": {
    params: { workspaceId: "bigint" },
    columns: { callback_salt: "text?" },
  },
  "service.putSalt": {
    params: { salt: "text", workspaceId: "bigint" },
    columns: { id: "bigint" },
  },
  "service.clockOffset": {
    params: {},
    columns: { offset_millis: "bigint" },
  },
  "service.raiseClockOffset": {
    params: { to: "bigint" },
    columns: { offset_millis: "bigint" },
  },
  "service.whyReadOnly": {
    params: {},
    columns: { because: "text" },
  },
  "service.examine": {
    params: {},
    columns: { version: "text", millis: "bigint" },
  },
  "service.databaseTime": {
    params: {},
    columns: { millis: "bigint?" },
  },
  "service.figures": {
    params: { now: "timestamptz", countAtMost: "integer", schema: "text", tables: "text[]" },
    columns: { figures: "json?" },
  },
  "service.reportProcess": {
    params: { name: "text", kind: "text", works: "boolean", seenAt: "timestamptz", numbersHeld: "integer", shardsHeld: "integer" },
    columns: {},
  },
  "service.processes": {
    params: { most: "bigint" },
    columns: { name: "text", kind: "text", works: "boolean", seen_at: "timestamptz", numbers_held: "integer?", shards_held: "integer?" },
  },
  "service.endProcess": {
    params: { name: "text" },
    columns: {},
  },
  "service.forgetProcesses": {
    params: { before: "timestamptz" },
    columns: {},
  },
  "session.exchange": {
    params: { numberId: "bigint", credentials: "text", before: "text" },
    columns: { written: "boolean?" },
  },
  "session.lockWorkspace": {
    params: { numberId: "bigint" },
    columns: { id: "bigint" },
  },
  "session.isAnothers": {
    params: { before: "text", numberId: "bigint", phone: "text" },
    columns: { held: "boolean?" },
  },
  "session.lockCampaigns": {
    params: { numberId: "bigint" },
    columns: {},
  },
  "session.lockLane": {
    params: { numberId: "bigint" },
    columns: { number_id: "bigint" },
  },
  "session.relinked": {
    params: { gapEventId: "text", now: "timestamptz", numberId: "bigint" },
    columns: { report_gap: "boolean?" },
  },
  "session.account": {
    params: { phone: "text", now: "timestamptz", numberId: "bigint" },
    columns: {},
  },
  "session.list": {
    params: {},
    columns: { number_id: "bigint", platform: "text", status: "text", removed: "boolean", leaving_at: "timestamptz?", pause_reason: "text?", status_reason: "text?", proxy_url: "text?", has_conversations: "boolean" },
  },
  "session.credentials": {
    params: { numberId: "bigint" },
    columns: { credentials: "text" },
  },
  "session.keys": {
    params: { numberId: "bigint", type: "text", ids: "text[]" },
    columns: { id: "text", value: "text" },
  },
  "session.write": {
    params: { shards: "integer[]", terms: "bigint[]", numberIds: "bigint[]", credentials: "text[]", times: "timestamptz[]", keyNumberIds: "bigint[]", types: "text[]", ids: "text[]", values: "text[]" },
    columns: { written: "boolean" },
  },
  "session.leave": {
    params: { shard: "integer", term: "bigint", now: "timestamptz", numberId: "bigint" },
    columns: { written: "boolean?" },
  },
  "session.wipe": {
    params: { shard: "integer", term: "bigint", numberId: "bigint" },
    columns: { written: "boolean?" },
  },
  "session.keepPresent": {
    params: { numberId: "bigint" },
    columns: { number_id: "bigint" },
  },
  "session.trim": {
    params: { shard: "integer", term: "bigint", numberId: "bigint", type: "text", most: "integer" },
    columns: { written: "boolean?" },
  },
  "shard.join": {
    params: { name: "text", most: "bigint" },
    columns: { id: "bigint" },
  },
  "shard.beat": {
    params: { id: "bigint", count: "bigint" },
    columns: { workers: "bigint[]", most: "bigint[]", beats: "bigint[]", holders: "bigint[]", terms: "bigint[]", linked: "bigint[]", linking: "bigint[]" },
  },
  "shard.end": {
    params: { ids: "bigint[]", beats: "bigint[]" },
    columns: {},
  },
  "shard.take": {
    params: { id: "bigint", shards: "integer[]" },
    columns: { shard: "integer", term: "bigint" },
  },
  "shard.give": {
    params: { shards: "integer[]", terms: "bigint[]", id: "bigint" },
    columns: {},
  },
  "shard.leave": {
    params: { id: "bigint" },
    columns: {},
  },
  "shard.holder": {
    params: { shard: "integer" },
    columns: { name: "text" },
  },
  "shard.holders": {
    params: {},
    columns: { shard: "integer", name: "text" },
  },
  "simulated.behaviour": {
    params: { numberId: "bigint" },
    columns: { send: "text", error_message: "text?", latency_millis: "bigint", groups: "text[]" },
  },
  "simulated.setBehaviour": {
    params: { numberId: "bigint", send: "text", errorMessage: "text", latencyMillis: "bigint", groups: "text[]" },
    columns: {},
  },
  "simulated.registered": {
    params: {},
    columns: { phones: "text[]" },
  },
  "simulated.setRegistered": {
    params: { phones: "text[]" },
    columns: {},
  },
  "simulated.forgetRegistered": {
    params: {},
    columns: {},
  },
  "simulated.receive": {
    params: { numberId: "bigint", send: "text", errorMessage: "text", latencyMillis: "bigint", groups: "text[]", follows: "boolean", transportId: "text", recipient: "text", text: "text", media: "jsonb", at: "timestamptz", quote: "text" },
    columns: { id: "bigint" },
  },
  "simulated.written": {
    params: { id: "bigint" },
    columns: { id: "bigint", number_id: "bigint", mode: "text", from_me: "boolean", remote_id: "text", chat_type: "text", group_id: "text?", chat_name: "text?", phone: "text?", lid: "text?", user_id: "text?", username: "text?", name: "text?", text: "text" },
  },
  "simulated.sent": {
    params: { workspaceId: "bigint", recipient: "text", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", message_id: "bigint?", transport_id: "text", number_id: "bigint", workspace_id: "bigint", recipient: "text", text: "text", media: "jsonb?", at: "timestamptz", quote: "text?" },
  },
  "simulated.sentOfNumber": {
    params: { numberId: "bigint", workspaceId: "bigint", recipient: "text", before: "bigint", limit: "bigint" },
    columns: { id: "bigint", message_id: "bigint?", transport_id: "text", number_id: "bigint", workspace_id: "bigint", recipient: "text", text: "text", media: "jsonb?", at: "timestamptz", quote: "text?" },
  },
  "subscription.find": {
    params: { name: "text" },
    columns: { reached: "bigint", lease: "bigint", lease_until: "timestamptz" },
  },
  "subscription.claim": {
    params: { until: "timestamptz", name: "text", lease: "bigint" },
    columns: { reached: "bigint", lease: "bigint", lease_until: "timestamptz" },
  },
  "subscription.save": {
    params: { reached: "bigint", until: "timestamptz", name: "text", lease: "bigint" },
    columns: { name: "text" },
  },
  "subscription.forget": {
    params: { before: "timestamptz" },
    columns: {},
  },
  "version1Lists.messages": {
    params: { workspaceId: "bigint", mode: "text", since: "timestamptz", until: "timestamptz", limit: "bigint", offset: "bigint" },
    columns: { total: "bigint", id: "bigint?", workspace_id: "bigint?", mode: "text?", number_id: "bigint?", platform: "text?", from_phone: "text?", to_kind: "text?", to_phone: "text?", to_name: "text?", to_contact_id: "bigint?", text: "text?", media_id: "bigint?", attachment_id: "bigint?", media_url: "text?", media_type: "text?", media_file_name: "text?", send_at: "timestamptz?", expires_at: "timestamptz?", created_at: "timestamptz?", due_at: "timestamptz?", transport_id: "text?", callback_url: "text?", reference: "text?", state: "text?", sent_at: "timestamptz?", error_code: "text?", error_message: "text?", found_media_type: "text?", phone: "text?", campaign_id: "bigint?", campaign_row: "integer?", to_chat_id: "bigint?", to_address: "text?", reply_received_id: "bigint?", reply_message_id: "bigint?" },
  },
  "version1Lists.media": {
    params: { workspaceId: "bigint", mode: "text", limit: "bigint", offset: "bigint" },
    columns: { total: "bigint", id: "bigint?", workspace_id: "bigint?", mode: "text?", file_name: "text?", type: "text?", mime_type: "text?", size: "bigint?", storage_key: "text?", created_at: "timestamptz?" },
  },
  "version1Lists.mediaOfType": {
    params: { workspaceId: "bigint", mode: "text", type: "text", limit: "bigint", offset: "bigint" },
    columns: { total: "bigint", id: "bigint?", workspace_id: "bigint?", mode: "text?", file_name: "text?", type: "text?", mime_type: "text?", size: "bigint?", storage_key: "text?", created_at: "timestamptz?" },
  },
  "version1Lists.reminders": {
    params: { workspaceId: "bigint", mode: "text", limit: "bigint", offset: "bigint" },
    columns: { total: "bigint", id: "bigint?", workspace_id: "bigint?", mode: "text?", next_run_at: "timestamptz?", created_at: "timestamptz?", name: "text?", active: "boolean?", recipient: "jsonb?", number_id: "bigint?", text: "text?", media: "jsonb?", cron: "text?", timezone: "text?", revision: "bigint?", lastRun: "json?" },
  },
  "version1Lists.checkResults": {
    params: { id: "bigint", status: "text", limit: "bigint", offset: "bigint" },
    columns: { total: "bigint", id: "bigint?", phone: "text?", status: "text?", checked_at: "timestamptz?" },
  },
  "webhook.get": {
    params: { workspaceId: "bigint", mode: "text", id: "bigint" },
    columns: { endpoint: "json?", last_attempt: "json?" },
  },
  "webhook.made": {
    params: { id: "bigint" },
    columns: { endpoint: "json?", original: "jsonb?" },
  },
  "webhook.list": {
    params: { workspaceId: "bigint", mode: "text", stopped: "boolean" },
    columns: { endpoint: "json?", last_attempt: "json?" },
  },
  "webhook.update": {
    params: { id: "bigint", url: "text", events: "text[]", description: "text", workspaceId: "bigint", mode: "text" },
    columns: { endpoint: "json?", last_attempt: "json?" },
  },
  "webhook.rotate": {
    params: { secretSalt: "text", secretLast4: "text", workspaceId: "bigint", mode: "text", id: "bigint" },
    columns: { endpoint: "json?", last_attempt: "json?" },
  },
  "webhook.remove": {
    params: { workspaceId: "bigint", mode: "text", id: "bigint", now: "timestamptz" },
    columns: { count: "integer?" },
  },
  "webhook.attempts": {
    params: { id: "bigint", types: "text[]", since: "timestamptz", until: "timestamptz", before: "bigint", limit: "bigint" },
    columns: { attempt: "json?" },
  },
  "webhook.failedAttempts": {
    params: { id: "bigint", types: "text[]", since: "timestamptz", until: "timestamptz", before: "bigint", limit: "bigint" },
    columns: { attempt: "json?" },
  },
  "webhook.attempt": {
    params: { attempt: "bigint", id: "bigint" },
    columns: { attempt: "json?", request_body: "text?", response_body: "text?" },
  },
  "webhook.undelivered": {
    params: { id: "bigint", workspaceId: "bigint", mode: "text", since: "timestamptz", limit: "bigint" },
    columns: { positions: "bigint[]?", seen: "bigint" },
  },
  "webhook.callbackAttempts": {
    params: { id: "bigint", before: "bigint", limit: "bigint" },
    columns: { attempt: "json?" },
  },
  "webhook.forgetAttempts": {
    params: { limit: "bigint", before: "timestamptz" },
    columns: { id: "bigint" },
  },
  "workspace.insert": {
    params: { name: "text", demo: "boolean", accountDisabled: "boolean", apiV2Enabled: "boolean", planName: "text", planMessagesRemaining: "bigint", planReminders: "boolean", planQrCodeApi: "boolean", planMaxNumbers: "bigint", planMediaStorageBytes: "bigint", retentionDays: "integer", createdAt: "timestamptz", admits: "boolean", admitsV1: "boolean" },
    columns: { w_id: "bigint", w_name: "text", w_demo: "boolean", w_account_disabled: "boolean", w_api_v2_enabled: "boolean", w_plan_name: "text?", w_plan_messages_remaining: "bigint?", w_plan_reminders: "boolean", w_plan_qr_code_api: "boolean", w_plan_max_numbers: "bigint?", w_plan_media_storage_bytes: "bigint", w_retention_days: "integer?", w_created_at: "timestamptz", w_deleted_at: "timestamptz?" },
  },
  "workspace.lockName": {
    params: { name: "text" },
    columns: { pg_advisory_xact_lock: "void?" },
  },
  "workspace.oldestNamed": {
    params: { name: "text" },
    columns: { w_id: "bigint", w_name: "text", w_demo: "boolean", w_account_disabled: "boolean", w_api_v2_enabled: "boolean", w_plan_name: "text?", w_plan_messages_remaining: "bigint?", w_plan_reminders: "boolean", w_plan_qr_code_api: "boolean", w_plan_max_numbers: "bigint?", w_plan_media_storage_bytes: "bigint", w_retention_days: "integer?", w_created_at: "timestamptz", w_deleted_at: "timestamptz?" },
  },
  "workspace.get": {
    params: { id: "bigint" },
    columns: { w_id: "bigint", w_name: "text", w_demo: "boolean", w_account_disabled: "boolean", w_api_v2_enabled: "boolean", w_plan_name: "text?", w_plan_messages_remaining: "bigint?", w_plan_reminders: "boolean", w_plan_qr_code_api: "boolean", w_plan_max_numbers: "bigint?", w_plan_media_storage_bytes: "bigint", w_retention_days: "integer?", w_created_at: "timestamptz", w_deleted_at: "timestamptz?" },
  },
  "workspace.lock": {
    params: { id: "bigint" },
    columns: { w_id: "bigint", w_name: "text", w_demo: "boolean", w_account_disabled: "boolean", w_api_v2_enabled: "boolean", w_plan_name: "text?", w_plan_messages_remaining: "bigint?", w_plan_reminders: "boolean", w_plan_qr_code_api: "boolean", w_plan_max_numbers: "bigint?", w_plan_media_storage_bytes: "bigint", w_retention_days: "integer?", w_created_at: "timestamptz", w_deleted_at: "timestamptz?" },
  },
  "workspace.list": {
    params: { before: "bigint", limit: "bigint" },
    columns: { w_id: "bigint", w_name: "text", w_demo: "boolean", w_account_disabled: "boolean", w_api_v2_enabled: "boolean", w_plan_name: "text?", w_plan_messages_remaining: "bigint?", w_plan_reminders: "boolean", w_plan_qr_code_api: "boolean", w_plan_max_numbers: "bigint?", w_plan_media_storage_bytes: "bigint", w_retention_days: "integer?", w_created_at: "timestamptz", w_deleted_at: "timestamptz?" },
  },
  "workspace.update": {
    params: { name: "text", demo: "boolean", accountDisabled: "boolean", apiV2Enabled: "boolean", planName: "text", planMessagesRemaining: "bigint", planReminders: "boolean", planQrCodeApi: "boolean", planMaxNumbers: "bigint", planMediaStorageBytes: "bigint", retentionDays: "integer", admits: "boolean", admitsV1: "boolean", id: "bigint" },
    columns: {},
  },
  "workspace.lookAtCampaigns": {
    params: { id: "bigint", now: "timestamptz" },
    columns: { look_at_campaigns: "void?" },
  },
  "workspace.lockLanes": {
    params: { id: "bigint" },
    columns: {},
  },
  "workspace.disable": {
    params: { disabled: "boolean", now: "timestamptz", id: "bigint" },
    columns: {},
  },
} as const
