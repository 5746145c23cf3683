/**
 * The types of version 2 and of the operator API. Made from the OpenAPI document by `pnpm generate`,
 * with openapi-typescript: change the document's schemas instead.
 */
export interface paths {
    readonly "/api/v2/me": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Check the key */
        readonly get: operations["getKeyInfo"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/messages": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List messages */
        readonly get: operations["listMessages"];
        readonly put?: never;
        /** Send a message */
        readonly post: operations["sendMessage"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/messages/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a message */
        readonly get: operations["getMessage"];
        readonly put?: never;
        readonly post?: never;
        /** Cancel a waiting message */
        readonly delete: operations["cancelMessage"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/messages/batch": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Send to many recipients */
        readonly post: operations["sendBatch"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/numbers": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List numbers */
        readonly get: operations["listNumbers"];
        readonly put?: never;
        /** Connect a WhatsApp number */
        readonly post: operations["connectNumber"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/numbers/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a number */
        readonly get: operations["getNumber"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/reminders": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List reminders */
        readonly get: operations["listReminders"];
        readonly put?: never;
        /** Create a reminder */
        readonly post: operations["createReminder"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/reminders/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a reminder */
        readonly get: operations["getReminder"];
        readonly put?: never;
        readonly post?: never;
        /** Delete a reminder */
        readonly delete: operations["deleteReminder"];
        readonly options?: never;
        readonly head?: never;
        /** Change, pause or resume a reminder */
        readonly patch: operations["updateReminder"];
        readonly trace?: never;
    };
    readonly "/api/v2/media": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List files */
        readonly get: operations["listMedia"];
        readonly put?: never;
        /** Upload a file */
        readonly post: operations["uploadMedia"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/media/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a file's record */
        readonly get: operations["getMedia"];
        readonly put?: never;
        readonly post?: never;
        /** Delete a file */
        readonly delete: operations["deleteMedia"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/number-checks": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List number checks */
        readonly get: operations["listNumberChecks"];
        readonly put?: never;
        /** Check which phones are registered */
        readonly post: operations["createNumberCheck"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/number-checks/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a number check */
        readonly get: operations["getNumberCheck"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/number-checks/{id}/results": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List the results of a check */
        readonly get: operations["listNumberCheckResults"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/webhooks": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List webhook endpoints */
        readonly get: operations["listWebhooks"];
        readonly put?: never;
        /** Create a webhook endpoint */
        readonly post: operations["createWebhook"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/webhooks/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a webhook endpoint */
        readonly get: operations["getWebhook"];
        readonly put?: never;
        readonly post?: never;
        /** Delete a webhook endpoint */
        readonly delete: operations["deleteWebhook"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/webhooks/{id}/rotate-secret": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Replace the signing secret */
        readonly post: operations["rotateWebhookSecret"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/webhooks/{id}/test": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Send a ping */
        readonly post: operations["testWebhook"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/received-messages": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List received messages */
        readonly get: operations["listReceivedMessages"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/received-messages/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a received message */
        readonly get: operations["getReceivedMessage"];
        readonly put?: never;
        readonly post?: never;
        /** Erase a received message */
        readonly delete: operations["deleteReceivedMessage"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/chats": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List chats */
        readonly get: operations["listChats"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/chats/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a chat */
        readonly get: operations["getChat"];
        readonly put?: never;
        readonly post?: never;
        /** Erase a chat */
        readonly delete: operations["deleteChat"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/chats/{id}/messages": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List what is in a chat */
        readonly get: operations["listChatMessages"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/chats/{id}/read": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Mark a chat as read */
        readonly post: operations["markChatRead"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/api/v2/numbers/{id}/restrictions": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read what WhatsApp lets a number do with new chats */
        readonly get: operations["getNumberRestrictions"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/session": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read the browser's session */
        readonly get: operations["getSession"];
        readonly put?: never;
        /** Sign a browser in */
        readonly post: operations["signIn"];
        /** Sign the browser out */
        readonly delete: operations["signOut"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/sign-in-links": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Create a link for the operator */
        readonly post: operations["createSignInLink"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/portal-sessions": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List links into the portal */
        readonly get: operations["listPortalSessions"];
        readonly put?: never;
        /** Create a link into the portal */
        readonly post: operations["createPortalSession"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/portal-sessions/{session_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        readonly post?: never;
        /** Revoke a link into the portal */
        readonly delete: operations["revokePortalSession"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List workspaces */
        readonly get: operations["listWorkspaces"];
        readonly put?: never;
        /** Create a workspace */
        readonly post: operations["createWorkspace"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a workspace */
        readonly get: operations["getWorkspace"];
        readonly put?: never;
        readonly post?: never;
        /** Delete a workspace */
        readonly delete: operations["deleteWorkspace"];
        readonly options?: never;
        readonly head?: never;
        /** Change a workspace */
        readonly patch: operations["updateWorkspace"];
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/keys": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List keys */
        readonly get: operations["listKeys"];
        readonly put?: never;
        /** Create a key */
        readonly post: operations["createKey"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/keys/{key_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        readonly post?: never;
        /** Revoke a key */
        readonly delete: operations["revokeKey"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/numbers": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List numbers */
        readonly get: operations["listWorkspaceNumbers"];
        readonly put?: never;
        /** Add a number */
        readonly post: operations["createNumber"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/numbers/{number_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a number */
        readonly get: operations["getWorkspaceNumber"];
        readonly put?: never;
        readonly post?: never;
        /** Remove a number */
        readonly delete: operations["deleteNumber"];
        readonly options?: never;
        readonly head?: never;
        /** Change a number's label, pacing and proxy */
        readonly patch: operations["updateNumber"];
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/connections": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read the connections of all numbers */
        readonly get: operations["listConnections"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/numbers/{number_id}/connection": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a number's connection */
        readonly get: operations["getConnection"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/numbers/{number_id}/pause": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Pause a number */
        readonly post: operations["pauseNumber"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/numbers/{number_id}/resume": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Resume a number */
        readonly post: operations["resumeNumber"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/numbers/{number_id}/check-proxy": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Check a number's proxy */
        readonly post: operations["checkProxy"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/numbers/{number_id}/logout": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Log a number out */
        readonly post: operations["logOutNumber"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a Telegram login */
        readonly get: operations["getTelegramLogin"];
        readonly put?: never;
        /** Log a Telegram account in */
        readonly post: operations["beginTelegramLogin"];
        /** Cancel a Telegram login */
        readonly delete: operations["cancelTelegramLogin"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login/code": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Enter the code that Telegram sent */
        readonly post: operations["giveTelegramCode"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login/password": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Enter the account's password */
        readonly post: operations["giveTelegramPassword"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/contacts": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List contacts */
        readonly get: operations["listContacts"];
        readonly put?: never;
        /** Save a contact */
        readonly post: operations["createContact"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/contacts/{contact_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        readonly post?: never;
        /** Delete a contact */
        readonly delete: operations["deleteContact"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/webhooks": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List webhook endpoints */
        readonly get: operations["listWorkspaceWebhooks"];
        readonly put?: never;
        /** Create a webhook endpoint */
        readonly post: operations["createWorkspaceWebhook"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/webhooks/{webhook_id}/deliveries": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read the delivery log */
        readonly get: operations["listDeliveries"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/webhooks/{webhook_id}/deliveries/{delivery_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read an attempt with its bodies */
        readonly get: operations["getDelivery"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/webhooks/{webhook_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        readonly post?: never;
        /** Delete a webhook endpoint */
        readonly delete: operations["deleteWorkspaceWebhook"];
        readonly options?: never;
        readonly head?: never;
        /** Change an endpoint */
        readonly patch: operations["updateWorkspaceWebhook"];
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/webhooks/{webhook_id}/recover": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Deliver again what an endpoint has missed */
        readonly post: operations["recoverEvents"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/webhooks/{webhook_id}/resume": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Resume a stopped endpoint */
        readonly post: operations["resumeWebhook"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/webhooks/{webhook_id}/redeliver": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Deliver an event again */
        readonly post: operations["redeliverEvent"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/callbacks/deliveries": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read the delivery log of version 1 callbacks */
        readonly get: operations["listCallbackDeliveries"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/callback-secret": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read the secret of version 1 callbacks */
        readonly get: operations["getCallbackSecret"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/callback-secret/rotate": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Change the secret of version 1 callbacks */
        readonly post: operations["rotateCallbackSecret"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/reminders/preview": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Preview the runs of a schedule */
        readonly post: operations["previewReminder"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/reminders/{reminder_id}/run": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Run a reminder now */
        readonly post: operations["runReminder"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/reminders/{reminder_id}/runs": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a reminder's log */
        readonly get: operations["listReminderRuns"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/messages/{message_id}/timeline": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** See what happened to a message */
        readonly get: operations["getMessageTimeline"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/messages/cancel": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Cancel many waiting messages */
        readonly post: operations["cancelWorkspaceMessages"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/messages/{message_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a message */
        readonly get: operations["getWorkspaceMessage"];
        readonly put?: never;
        readonly post?: never;
        /** Cancel a waiting message */
        readonly delete: operations["cancelWorkspaceMessage"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/store/restored": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Report a restored store */
        readonly post: operations["storeRestored"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/held": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List workspaces with held messages */
        readonly get: operations["listHeldWorkspaces"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/held": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List a workspace's held messages */
        readonly get: operations["listHeld"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/held/release": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Release held messages */
        readonly post: operations["releaseHeld"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/held/cancel": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Cancel held messages */
        readonly post: operations["cancelHeld"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/held/mark-sent": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Mark held messages as sent */
        readonly post: operations["markHeldSent"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/messages": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List messages */
        readonly get: operations["listWorkspaceMessages"];
        readonly put?: never;
        /** Send a message */
        readonly post: operations["sendWorkspaceMessage"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/messages/batch": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Send to many recipients */
        readonly post: operations["sendWorkspaceBatch"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/numbers/link": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Connect a WhatsApp number */
        readonly post: operations["linkNumber"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/reminders": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List reminders */
        readonly get: operations["listWorkspaceReminders"];
        readonly put?: never;
        /** Create a reminder */
        readonly post: operations["createWorkspaceReminder"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/reminders/{reminder_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a reminder */
        readonly get: operations["getWorkspaceReminder"];
        readonly put?: never;
        readonly post?: never;
        /** Delete a reminder */
        readonly delete: operations["deleteWorkspaceReminder"];
        readonly options?: never;
        readonly head?: never;
        /** Change, pause or resume a reminder */
        readonly patch: operations["updateWorkspaceReminder"];
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/media": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List files */
        readonly get: operations["listWorkspaceMedia"];
        readonly put?: never;
        /** Upload a file */
        readonly post: operations["uploadWorkspaceMedia"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/media/{media_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a file's record */
        readonly get: operations["getWorkspaceMedia"];
        readonly put?: never;
        readonly post?: never;
        /** Delete a file */
        readonly delete: operations["deleteWorkspaceMedia"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/number-checks": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List number checks */
        readonly get: operations["listWorkspaceNumberChecks"];
        readonly put?: never;
        /** Check which phones are registered */
        readonly post: operations["createWorkspaceNumberCheck"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/number-checks/{check_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a number check */
        readonly get: operations["getWorkspaceNumberCheck"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/number-checks/{check_id}/results": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List the results of a check */
        readonly get: operations["listWorkspaceNumberCheckResults"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/webhooks/{webhook_id}/rotate-secret": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Replace the signing secret */
        readonly post: operations["rotateWorkspaceWebhookSecret"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/webhooks/{webhook_id}/test": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Send a ping */
        readonly post: operations["testWorkspaceWebhook"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/events": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Follow what changes */
        readonly get: operations["streamNews"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/figures": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a workspace's figures */
        readonly get: operations["readFigures"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/figures": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read the service's figures */
        readonly get: operations["readServiceFigures"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/numbers/{number_id}/behaviour": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read how a phone behaves */
        readonly get: operations["getBehaviour"];
        /** Set how a phone behaves */
        readonly put: operations["setBehaviour"];
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/registered": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read which phones exist */
        readonly get: operations["getRegistered"];
        /** Set which phones exist */
        readonly put: operations["setRegistered"];
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/numbers/{number_id}/scan": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Scan the QR code or type the pairing code */
        readonly post: operations["scanCode"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/numbers/{number_id}/logout": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Log a phone out */
        readonly post: operations["logOut"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/messages/{message_id}/ticks": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Let a tick arrive */
        readonly post: operations["tick"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/sent": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List sent copies */
        readonly get: operations["listSent"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/clock": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read the clock */
        readonly get: operations["getClock"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/clock/advance": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Advance the clock */
        readonly post: operations["advanceClock"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/settle": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Wait until the service is idle */
        readonly post: operations["settle"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/workspaces/{id}/receivers": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List the receivers of a workspace */
        readonly get: operations["listReceivers"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/workspaces/{id}/receivers/{name}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        /** Set what a receiver answers */
        readonly put: operations["setReceiverAnswer"];
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/workspaces/{id}/receivers/{name}/calls": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List the calls of a receiver */
        readonly get: operations["listReceiverCalls"];
        readonly put?: never;
        readonly post?: never;
        /** Forget the calls of a receiver */
        readonly delete: operations["clearReceiverCalls"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/campaigns": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List campaigns */
        readonly get: operations["listCampaigns"];
        readonly put?: never;
        /** Make a campaign */
        readonly post: operations["createCampaign"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/campaigns/{campaign_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a campaign */
        readonly get: operations["getCampaign"];
        readonly put?: never;
        readonly post?: never;
        /** Delete a campaign */
        readonly delete: operations["deleteCampaign"];
        readonly options?: never;
        readonly head?: never;
        /** Change a campaign */
        readonly patch: operations["updateCampaign"];
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/campaigns/{campaign_id}/rows": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List a campaign's rows */
        readonly get: operations["listCampaignRows"];
        readonly put?: never;
        /** Add rows to a draft */
        readonly post: operations["addCampaignRows"];
        /** Delete a draft's rows */
        readonly delete: operations["clearCampaignRows"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/campaigns/{campaign_id}/rows/{row}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a row */
        readonly get: operations["getCampaignRow"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/campaigns/{campaign_id}/results.csv": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Download a campaign's results */
        readonly get: operations["downloadCampaignResults"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/campaigns/{campaign_id}/forecast": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** See when a campaign would finish */
        readonly get: operations["forecastCampaign"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/campaigns/{campaign_id}/start": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Start a campaign */
        readonly post: operations["startCampaign"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/campaigns/{campaign_id}/pause": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Pause a campaign */
        readonly post: operations["pauseCampaign"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/campaigns/{campaign_id}/stop": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Stop a campaign */
        readonly post: operations["stopCampaign"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/campaigns/{campaign_id}/resume": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Resume a campaign */
        readonly post: operations["resumeCampaign"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/conversations": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Get the settings of conversations */
        readonly get: operations["getConversations"];
        /** Turn conversations on */
        readonly put: operations["setConversations"];
        readonly post?: never;
        /** Turn conversations off */
        readonly delete: operations["deleteConversations"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/received-messages": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List received messages */
        readonly get: operations["listWorkspaceReceivedMessages"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/received-messages/{received_message_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a received message */
        readonly get: operations["getWorkspaceReceivedMessage"];
        readonly put?: never;
        readonly post?: never;
        /** Erase a received message */
        readonly delete: operations["deleteWorkspaceReceivedMessage"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/chats": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List chats */
        readonly get: operations["listWorkspaceChats"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/chats/{chat_id}": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read a chat */
        readonly get: operations["getWorkspaceChat"];
        readonly put?: never;
        readonly post?: never;
        /** Erase a chat */
        readonly delete: operations["deleteWorkspaceChat"];
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/chats/{chat_id}/messages": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List what is in a chat */
        readonly get: operations["listWorkspaceChatMessages"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/chats/{chat_id}/read": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Mark a chat as read */
        readonly post: operations["markWorkspaceChatRead"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/numbers/{number_id}/received-messages": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Let a person write */
        readonly post: operations["writeMessage"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/numbers/{number_id}/read-marks": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** List what was marked as read on a phone */
        readonly get: operations["listReadMarks"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/received-messages/{id}/edit": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Let the author edit a message */
        readonly post: operations["editMessage"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/received-messages/{id}/revoke": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Let the author take a message back */
        readonly post: operations["revokeMessage"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/messages/{message_id}/react": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Let a person react to a message */
        readonly post: operations["react"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/numbers/{number_id}/away": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        /** Lose a number's connection, or bring it back */
        readonly put: operations["setAway"];
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/numbers/{number_id}/gap": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        readonly put?: never;
        /** Let the platform skip messages */
        readonly post: operations["skipMessages"];
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/simulator/numbers/{number_id}/restrictions": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly get?: never;
        /** Let WhatsApp close new chats to a number, or cap them */
        readonly put: operations["restrictNumber"];
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
    readonly "/admin/v1/workspaces/{id}/numbers/{number_id}/restrictions": {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        /** Read what WhatsApp lets a number do with new chats */
        readonly get: operations["getWorkspaceNumberRestrictions"];
        readonly put?: never;
        readonly post?: never;
        readonly delete?: never;
        readonly options?: never;
        readonly head?: never;
        readonly patch?: never;
        readonly trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        readonly AddRows: AddRows;
        readonly AdvanceClock: AdvanceClock;
        readonly Behaviour: Behaviour;
        readonly BrowserSession: BrowserSession;
        readonly CallbackDelivery: CallbackDelivery;
        readonly CallbackSecret: CallbackSecret;
        readonly Campaign: Campaign;
        readonly CampaignForecast: CampaignForecast;
        readonly CampaignInput: CampaignInput;
        readonly CampaignRow: CampaignRow;
        readonly CampaignRowCounts: CampaignRowCounts;
        readonly CampaignRowsAdded: CampaignRowsAdded;
        readonly CampaignRowsCleared: CampaignRowsCleared;
        readonly CancelFilter: CancelFilter;
        /** @description Exactly one of `ids` and `filter`. */
        readonly CancelMessages: CancelMessages;
        /** @description Only the fields to change. */
        readonly ChangeCampaign: ChangeCampaign;
        readonly ChangeNumber: ChangeNumber;
        readonly ChangePacing: ChangePacing;
        /** @description Only the fields to change. */
        readonly ChangeReminder: ChangeReminder;
        /** @description Only the fields to change. */
        readonly ChangeWebhook: ChangeWebhook;
        /** @description Only the fields to change. */
        readonly ChangeWorkspace: ChangeWorkspace;
        readonly Chat: Chat;
        /** @description One of the two is null. */
        readonly ChatEntry: ChatEntry;
        readonly CheckNumbers: CheckNumbers;
        readonly Clock: Clock;
        readonly Connect: Connect;
        readonly ConnectNumber: ConnectNumber;
        readonly Connection: Connection;
        readonly Contact: Contact;
        readonly ConversationSettings: ConversationSettings;
        readonly Conversations: Conversations;
        readonly ConversationsOff: ConversationsOff;
        /** @description Exactly one of `phone` and `username`. */
        readonly CreateContact: CreateContact;
        /** @description A version 1 key takes `version` alone; a version 2 key needs a name. */
        readonly CreateKey: CreateKey;
        readonly CreateKeyV1: CreateKeyV1;
        readonly CreateKeyV2: CreateKeyV2;
        readonly CreateNumber: CreateNumber;
        readonly CreatePortalSession: CreatePortalSession;
        readonly CreateReminder: CreateReminder;
        readonly CreateWebhook: CreateWebhook;
        readonly CreateWorkspace: CreateWorkspace;
        readonly CurrentSession: CurrentSession;
        readonly Deleted: Deleted;
        readonly Delivery: Delivery;
        readonly Edit: Edit;
        readonly Epoch: Epoch;
        /**
         * @description Stable identifier; branch on it. Every code is explained at `/docs/errors`.
         * @enum {string}
         */
        readonly ErrorCode: ErrorCode;
        readonly Figures: Figures;
        readonly FiguresBucket: FiguresBucket;
        readonly Held: Held;
        readonly HeldCancelled: HeldCancelled;
        readonly HeldFilter: HeldFilter;
        readonly HeldMarked: HeldMarked;
        readonly HeldReleased: HeldReleased;
        readonly Key: Key;
        readonly KeyInfo: KeyInfo;
        readonly LastDelivery: LastDelivery;
        readonly LastRun: LastRun;
        readonly ListedConnection: ListedConnection;
        readonly LoggedDelivery: LoggedDelivery;
        readonly MarkRead: MarkRead;
        /** @description Exactly one of `ids` and `filter`. */
        readonly MarkSent: MarkSent;
        readonly Media: Media;
        readonly MediaFile: MediaFile;
        /** @description An image or a file: a link, or a file of the media directory. */
        readonly MediaReference: MediaReference;
        readonly Message: Message;
        readonly MessageRecipient: MessageRecipient;
        readonly MessageWaiting: MessageWaiting;
        readonly MessagesCancelled: MessagesCancelled;
        readonly NewKey: NewKey;
        readonly NewPortalSession: NewPortalSession;
        readonly Number: SendingNumber;
        readonly NumberCheck: NumberCheck;
        readonly NumberCheckResult: NumberCheckResult;
        readonly OperatedConnect: OperatedConnect;
        readonly OperatedNumber: OperatedNumber;
        readonly Pacing: Pacing;
        readonly PauseNumber: PauseNumber;
        /** @description Each address is null when unknown. */
        readonly Person: Person;
        readonly Plan: Plan;
        readonly PlanInput: PlanInput;
        readonly PortalSession: PortalSession;
        readonly PreviewReminder: PreviewReminder;
        readonly Process: Process;
        readonly ProxyCheck: ProxyCheck;
        readonly QueuedEvent: QueuedEvent;
        readonly React: React;
        readonly ReadChat: ReadChat;
        readonly ReadMark: ReadMark;
        readonly ReceivedMessage: ReceivedMessage;
        readonly Receiver: Receiver;
        readonly ReceiverAnswer: ReceiverAnswer;
        readonly ReceiverCall: ReceiverCall;
        /** @description Exactly one of the keys. */
        readonly Recipient: Recipient;
        readonly RecoverEvents: RecoverEvents;
        readonly RecoveredEvents: RecoveredEvents;
        readonly RedeliverEvent: RedeliverEvent;
        readonly Registered: Registered;
        readonly Reminder: Reminder;
        readonly ReminderPreview: ReminderPreview;
        readonly ReminderRecipient: ReminderRecipient;
        readonly ReminderRun: ReminderRun;
        readonly RemoteId: RemoteId;
        /** @description Exactly one of the keys. */
        readonly ReplyTo: ReplyTo;
        readonly Restrict: Restrict;
        readonly Restrictions: Restrictions;
        readonly ResumeCampaign: ResumeCampaign;
        readonly RevokedKey: RevokedKey;
        readonly RevokedPortalSession: RevokedPortalSession;
        readonly RowInput: RowInput;
        /** @description Exactly one of the keys. */
        readonly RowRecipient: RowRecipient;
        readonly Scan: Scan;
        readonly ScheduleInput: ScheduleInput;
        /** @description Exactly one of `ids` and `filter`. */
        readonly SelectHeld: SelectHeld;
        readonly SendBatch: SendBatch;
        readonly SendMessage: SendMessage;
        /** @description Exactly one of the keys. */
        readonly SendRecipient: SendRecipient;
        readonly SendWorkspaceBatch: SendWorkspaceBatch;
        readonly SendWorkspaceMessage: SendWorkspaceMessage;
        /** @description Messages leave only then. */
        readonly SendingHours: SendingHours;
        readonly Sent: Sent;
        readonly ServiceFigures: ServiceFigures;
        readonly SetAway: SetAway;
        readonly SetBehaviour: SetBehaviour;
        /** @description What is left out takes its default. */
        readonly SetConversations: SetConversations;
        readonly SetReceiverAnswer: SetReceiverAnswer;
        readonly SetRegistered: SetRegistered;
        readonly Settled: Settled;
        /** @description The operator token, or the code of a link. */
        readonly SignIn: SignIn;
        readonly SignInLink: SignInLink;
        readonly SignedOut: SignedOut;
        readonly Skipped: Skipped;
        readonly StoreRestored: StoreRestored;
        readonly TelegramCode: TelegramCode;
        readonly TelegramLogin: TelegramLogin;
        readonly TelegramLoginRequest: TelegramLoginRequest;
        readonly TelegramPassword: TelegramPassword;
        readonly Tick: Tick;
        readonly Timeline: Timeline;
        readonly TimelineEntry: TimelineEntry;
        readonly Webhook: Webhook;
        readonly WebhookWithSecret: WebhookWithSecret;
        readonly Workspace: Workspace;
        readonly WorkspaceMessage: WorkspaceMessage;
        readonly Write: Write;
    };
    responses: never;
    parameters: {
        /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
        readonly "Idempotency-Key": string;
    };
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    readonly getKeyInfo: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What the key is and may do. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["KeyInfo"];
                };
            };
        };
    };
    readonly listMessages: {
        readonly parameters: {
            readonly query?: ListMessagesQuery;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of messages. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Message"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly sendMessage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SendMessage"];
            };
        };
        readonly responses: {
            /** @description The message was accepted: `queued`, or `scheduled` for a later `send_at`. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Message"];
                };
            };
        };
    };
    readonly getMessage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The message as it is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Message"];
                };
            };
        };
    };
    readonly cancelMessage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The cancelled message. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Message"];
                };
            };
        };
    };
    readonly sendBatch: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SendBatch"];
            };
        };
        readonly responses: {
            /** @description One message for each recipient, in their order. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Message"][];
                    };
                };
            };
        };
    };
    readonly listNumbers: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The numbers. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Number"][];
                    };
                };
            };
        };
    };
    readonly connectNumber: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ConnectNumber"];
            };
        };
        readonly responses: {
            /** @description The number, `connecting`. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Number"];
                };
            };
        };
    };
    readonly getNumber: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The number. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Number"];
                };
            };
        };
    };
    readonly listReminders: {
        readonly parameters: {
            readonly query?: ListRemindersQuery;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of reminders. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Reminder"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly createReminder: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CreateReminder"];
            };
        };
        readonly responses: {
            /** @description The reminder. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Reminder"];
                };
            };
        };
    };
    readonly getReminder: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The reminder. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Reminder"];
                };
            };
        };
    };
    readonly deleteReminder: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The reminder no longer runs. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly updateReminder: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ChangeReminder"];
            };
        };
        readonly responses: {
            /** @description The reminder as it is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Reminder"];
                };
            };
        };
    };
    readonly listMedia: {
        readonly parameters: {
            readonly query?: ListMediaQuery;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of files. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["MediaFile"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly uploadMedia: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "multipart/form-data": {
                    /**
                     * Format: binary
                     * @description At most 67108864 bytes.
                     */
                    readonly file: string;
                };
            };
        };
        readonly responses: {
            /** @description The file. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["MediaFile"];
                };
            };
        };
    };
    readonly getMedia: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The record, with a fresh link. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["MediaFile"];
                };
            };
        };
    };
    readonly deleteMedia: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Deleted. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly listNumberChecks: {
        readonly parameters: {
            readonly query?: ListNumberChecksQuery;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of checks. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["NumberCheck"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly createNumberCheck: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CheckNumbers"];
            };
        };
        readonly responses: {
            /** @description The check; its results follow. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NumberCheck"];
                };
            };
        };
    };
    readonly getNumberCheck: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The check. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NumberCheck"];
                };
            };
        };
    };
    readonly listNumberCheckResults: {
        readonly parameters: {
            readonly query?: ListNumberCheckResultsQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of results. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["NumberCheckResult"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly listWebhooks: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The endpoints. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Webhook"][];
                    };
                };
            };
        };
    };
    readonly createWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CreateWebhook"];
            };
        };
        readonly responses: {
            /** @description The endpoint with its secret; a repeat with the same `Idempotency-Key` omits it. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["WebhookWithSecret"] | components["schemas"]["Webhook"];
                };
            };
        };
    };
    readonly getWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The endpoint, active or stopped. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    readonly deleteWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The service sends nothing more to it, including repeats. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly rotateWebhookSecret: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The endpoint with its new secret. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
        };
    };
    readonly testWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A `ping` is on its way. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["QueuedEvent"];
                };
            };
        };
    };
    readonly listReceivedMessages: {
        readonly parameters: {
            readonly query?: ListReceivedMessagesQuery;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of received messages. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["ReceivedMessage"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly getReceivedMessage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The message. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReceivedMessage"];
                };
            };
        };
    };
    readonly deleteReceivedMessage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is erased. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly listChats: {
        readonly parameters: {
            readonly query?: ListChatsQuery;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of chats. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Chat"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly getChat: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The chat. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Chat"];
                };
            };
        };
    };
    readonly deleteChat: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is erased. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly listChatMessages: {
        readonly parameters: {
            readonly query?: ListChatMessagesQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of entries. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["ChatEntry"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly markChatRead: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["MarkRead"];
            };
        };
        readonly responses: {
            /** @description The mark is stored: how far the chat is read by now. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReadChat"];
                };
            };
        };
    };
    readonly getNumberRestrictions: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The restrictions. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Restrictions"];
                };
            };
        };
    };
    readonly getSession: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The session, or null. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CurrentSession"];
                };
            };
        };
    };
    readonly signIn: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SignIn"];
            };
        };
        readonly responses: {
            /** @description The session, and its cookie. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["BrowserSession"];
                };
            };
        };
    };
    readonly signOut: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Signed out. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["SignedOut"];
                };
            };
        };
    };
    readonly createSignInLink: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The link. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["SignInLink"];
                };
            };
        };
    };
    readonly listPortalSessions: {
        readonly parameters: {
            readonly query?: ListPortalSessionsQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of links. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["PortalSession"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly createPortalSession: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CreatePortalSession"];
            };
        };
        readonly responses: {
            /** @description The link. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NewPortalSession"];
                };
            };
        };
    };
    readonly revokePortalSession: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly session_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Revoked. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RevokedPortalSession"];
                };
            };
        };
    };
    readonly listWorkspaces: {
        readonly parameters: {
            readonly query?: ListWorkspacesQuery;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of workspaces. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Workspace"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly createWorkspace: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CreateWorkspace"];
            };
        };
        readonly responses: {
            /** @description The workspace. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Workspace"];
                };
            };
        };
    };
    readonly getWorkspace: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The workspace. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Workspace"];
                };
            };
        };
    };
    readonly deleteWorkspace: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Deleted. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly updateWorkspace: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ChangeWorkspace"];
            };
        };
        readonly responses: {
            /** @description The workspace as it is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Workspace"];
                };
            };
        };
    };
    readonly listKeys: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The keys. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Key"][];
                    };
                };
            };
        };
    };
    readonly createKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CreateKey"];
            };
        };
        readonly responses: {
            /** @description The whole key, shown only now. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NewKey"];
                };
            };
        };
    };
    readonly revokeKey: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly key_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The key no longer works. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RevokedKey"];
                };
            };
        };
    };
    readonly listWorkspaceNumbers: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The numbers, oldest first. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Number"][];
                    };
                };
            };
        };
    };
    readonly createNumber: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CreateNumber"];
            };
        };
        readonly responses: {
            /** @description The number. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Number"];
                };
            };
        };
    };
    readonly getWorkspaceNumber: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The number. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OperatedNumber"];
                };
            };
        };
    };
    readonly deleteNumber: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Deleted. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly updateNumber: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ChangeNumber"];
            };
        };
        readonly responses: {
            /** @description The number as it is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["OperatedNumber"];
                };
            };
        };
    };
    readonly listConnections: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Of each number, oldest first. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["ListedConnection"][];
                        /** @description Whether the workspace has more than these 1,000 numbers. */
                        readonly truncated: boolean;
                    };
                };
            };
        };
    };
    readonly getConnection: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The connection. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Connection"];
                };
            };
        };
    };
    readonly pauseNumber: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["PauseNumber"];
            };
        };
        readonly responses: {
            /** @description The connection. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Connection"];
                };
            };
        };
    };
    readonly resumeNumber: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The connection. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Connection"];
                };
            };
        };
    };
    readonly checkProxy: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Whether the connection opened, and how long that took. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ProxyCheck"];
                };
            };
        };
    };
    readonly logOutNumber: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The number, disconnected. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Number"];
                };
            };
        };
    };
    readonly getTelegramLogin: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The login. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["TelegramLogin"];
                };
            };
        };
    };
    readonly beginTelegramLogin: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["TelegramLoginRequest"];
            };
        };
        readonly responses: {
            /** @description The login. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["TelegramLogin"];
                };
            };
        };
    };
    readonly cancelTelegramLogin: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The login is cancelled. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        /** @enum {boolean} */
                        readonly cancelled: true;
                    };
                };
            };
        };
    };
    readonly giveTelegramCode: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["TelegramCode"];
            };
        };
        readonly responses: {
            /** @description The login: `connected`, or `password_needed`. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["TelegramLogin"];
                };
            };
        };
    };
    readonly giveTelegramPassword: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["TelegramPassword"];
            };
        };
        readonly responses: {
            /** @description The login. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["TelegramLogin"];
                };
            };
        };
    };
    readonly listContacts: {
        readonly parameters: {
            readonly query?: ListContactsQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of contacts. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Contact"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly createContact: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CreateContact"];
            };
        };
        readonly responses: {
            /** @description The contact. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Contact"];
                };
            };
        };
    };
    readonly deleteContact: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly contact_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Deleted. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly listWorkspaceWebhooks: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The endpoints. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Webhook"][];
                    };
                };
            };
        };
    };
    readonly createWorkspaceWebhook: {
        readonly parameters: {
            readonly query?: CreateWorkspaceWebhookQuery;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CreateWebhook"];
            };
        };
        readonly responses: {
            /** @description The endpoint with its secret; a repeat with the same `Idempotency-Key` omits it. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["WebhookWithSecret"] | components["schemas"]["Webhook"];
                };
            };
        };
    };
    readonly listDeliveries: {
        readonly parameters: {
            readonly query?: ListDeliveriesQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly webhook_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of attempts. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Delivery"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly getDelivery: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly webhook_id: number;
                readonly delivery_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The attempt. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["LoggedDelivery"];
                };
            };
        };
    };
    readonly deleteWorkspaceWebhook: {
        readonly parameters: {
            readonly query?: DeleteWorkspaceWebhookQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly webhook_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The service sends nothing more to it, including repeats. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly updateWorkspaceWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly webhook_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ChangeWebhook"];
            };
        };
        readonly responses: {
            /** @description The endpoint as it is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    readonly recoverEvents: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly webhook_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["RecoverEvents"];
            };
        };
        readonly responses: {
            /** @description The events are on their way. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RecoveredEvents"];
                };
            };
        };
    };
    readonly resumeWebhook: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly webhook_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The endpoint, active again. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Webhook"];
                };
            };
        };
    };
    readonly redeliverEvent: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly webhook_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["RedeliverEvent"];
            };
        };
        readonly responses: {
            /** @description The event is on its way. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["QueuedEvent"];
                };
            };
        };
    };
    readonly listCallbackDeliveries: {
        readonly parameters: {
            readonly query?: ListCallbackDeliveriesQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of attempts. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["CallbackDelivery"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly getCallbackSecret: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The secret. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CallbackSecret"];
                };
            };
        };
    };
    readonly rotateCallbackSecret: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The new secret. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CallbackSecret"];
                };
            };
        };
    };
    readonly previewReminder: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["PreviewReminder"];
            };
        };
        readonly responses: {
            /** @description The next runs. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReminderPreview"];
                };
            };
        };
    };
    readonly runReminder: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path: {
                readonly id: number;
                readonly reminder_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The run. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReminderRun"];
                };
            };
        };
    };
    readonly listReminderRuns: {
        readonly parameters: {
            readonly query?: ListReminderRunsQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly reminder_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of runs. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["ReminderRun"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly getMessageTimeline: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly message_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The message and its timeline. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Timeline"];
                };
            };
        };
    };
    readonly cancelWorkspaceMessages: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CancelMessages"];
            };
        };
        readonly responses: {
            /** @description How many were cancelled. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["MessagesCancelled"];
                };
            };
        };
    };
    readonly getWorkspaceMessage: {
        readonly parameters: {
            readonly query?: GetWorkspaceMessageQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly message_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The message as it is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["WorkspaceMessage"];
                };
            };
        };
    };
    readonly cancelWorkspaceMessage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly message_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The cancelled message. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["WorkspaceMessage"];
                };
            };
        };
    };
    readonly storeRestored: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["StoreRestored"];
            };
        };
        readonly responses: {
            /** @description The new epoch, and how much is held. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Epoch"];
                };
            };
        };
    };
    readonly listHeldWorkspaces: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Each workspace with held messages or reminders. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Held"][];
                    };
                };
            };
        };
    };
    readonly listHeld: {
        readonly parameters: {
            readonly query?: ListHeldQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of messages, newest first. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["WorkspaceMessage"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly releaseHeld: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SelectHeld"];
            };
        };
        readonly responses: {
            /** @description How many messages and reminders were released. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["HeldReleased"];
                };
            };
        };
    };
    readonly cancelHeld: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SelectHeld"];
            };
        };
        readonly responses: {
            /** @description How many messages were cancelled and reminders released. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["HeldCancelled"];
                };
            };
        };
    };
    readonly markHeldSent: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["MarkSent"];
            };
        };
        readonly responses: {
            /** @description How many messages were marked and reminders released. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["HeldMarked"];
                };
            };
        };
    };
    readonly listWorkspaceMessages: {
        readonly parameters: {
            readonly query?: ListWorkspaceMessagesQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of messages. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["WorkspaceMessage"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                        /**
                         * Format: date-time
                         * @description With `text`: when the oldest message that was looked at was created; null for none.
                         * @example 2030-01-31T07:00:00Z
                         */
                        readonly looked_until?: string | null;
                    };
                };
            };
        };
    };
    readonly sendWorkspaceMessage: {
        readonly parameters: {
            readonly query?: SendWorkspaceMessageQuery;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SendWorkspaceMessage"];
            };
        };
        readonly responses: {
            /** @description The message was accepted: `queued`, or `scheduled` for a later `send_at`. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["WorkspaceMessage"];
                };
            };
        };
    };
    readonly sendWorkspaceBatch: {
        readonly parameters: {
            readonly query?: SendWorkspaceBatchQuery;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SendWorkspaceBatch"];
            };
        };
        readonly responses: {
            /** @description One message for each recipient, in their order. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["WorkspaceMessage"][];
                    };
                };
            };
        };
    };
    readonly linkNumber: {
        readonly parameters: {
            readonly query?: LinkNumberQuery;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ConnectNumber"];
            };
        };
        readonly responses: {
            /** @description The number, `connecting`. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Number"];
                };
            };
        };
    };
    readonly listWorkspaceReminders: {
        readonly parameters: {
            readonly query?: ListWorkspaceRemindersQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of reminders. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Reminder"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly createWorkspaceReminder: {
        readonly parameters: {
            readonly query?: CreateWorkspaceReminderQuery;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CreateReminder"];
            };
        };
        readonly responses: {
            /** @description The reminder. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Reminder"];
                };
            };
        };
    };
    readonly getWorkspaceReminder: {
        readonly parameters: {
            readonly query?: GetWorkspaceReminderQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly reminder_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The reminder. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Reminder"];
                };
            };
        };
    };
    readonly deleteWorkspaceReminder: {
        readonly parameters: {
            readonly query?: DeleteWorkspaceReminderQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly reminder_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The reminder no longer runs. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly updateWorkspaceReminder: {
        readonly parameters: {
            readonly query?: UpdateWorkspaceReminderQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly reminder_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ChangeReminder"];
            };
        };
        readonly responses: {
            /** @description The reminder as it is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Reminder"];
                };
            };
        };
    };
    readonly listWorkspaceMedia: {
        readonly parameters: {
            readonly query?: ListWorkspaceMediaQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of files. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["MediaFile"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly uploadWorkspaceMedia: {
        readonly parameters: {
            readonly query?: UploadWorkspaceMediaQuery;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "multipart/form-data": {
                    /**
                     * Format: binary
                     * @description At most 67108864 bytes.
                     */
                    readonly file: string;
                };
            };
        };
        readonly responses: {
            /** @description The file. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["MediaFile"];
                };
            };
        };
    };
    readonly getWorkspaceMedia: {
        readonly parameters: {
            readonly query?: GetWorkspaceMediaQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly media_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The record, with a fresh link. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["MediaFile"];
                };
            };
        };
    };
    readonly deleteWorkspaceMedia: {
        readonly parameters: {
            readonly query?: DeleteWorkspaceMediaQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly media_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Deleted. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly listWorkspaceNumberChecks: {
        readonly parameters: {
            readonly query?: ListWorkspaceNumberChecksQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of checks. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["NumberCheck"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly createWorkspaceNumberCheck: {
        readonly parameters: {
            readonly query?: CreateWorkspaceNumberCheckQuery;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CheckNumbers"];
            };
        };
        readonly responses: {
            /** @description The check; its results follow. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NumberCheck"];
                };
            };
        };
    };
    readonly getWorkspaceNumberCheck: {
        readonly parameters: {
            readonly query?: GetWorkspaceNumberCheckQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly check_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The check. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["NumberCheck"];
                };
            };
        };
    };
    readonly listWorkspaceNumberCheckResults: {
        readonly parameters: {
            readonly query?: ListWorkspaceNumberCheckResultsQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly check_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of results. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["NumberCheckResult"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly rotateWorkspaceWebhookSecret: {
        readonly parameters: {
            readonly query?: RotateWorkspaceWebhookSecretQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly webhook_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The endpoint with its new secret. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["WebhookWithSecret"];
                };
            };
        };
    };
    readonly testWorkspaceWebhook: {
        readonly parameters: {
            readonly query?: TestWorkspaceWebhookQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly webhook_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A `ping` is on its way. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["QueuedEvent"];
                };
            };
        };
    };
    readonly streamNews: {
        readonly parameters: {
            readonly query: StreamNewsQuery;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Events, until the session ends or the service stops. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/event-stream": string;
                };
            };
        };
    };
    readonly readFigures: {
        readonly parameters: {
            readonly query?: ReadFiguresQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description What happened in that span, and what waits. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Figures"];
                };
            };
        };
    };
    readonly readServiceFigures: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description How the service does. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ServiceFigures"];
                };
            };
        };
    };
    readonly getBehaviour: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The behaviour, as set or its defaults. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Behaviour"];
                };
            };
        };
    };
    readonly setBehaviour: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SetBehaviour"];
            };
        };
        readonly responses: {
            /** @description The behaviour. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Behaviour"];
                };
            };
        };
    };
    readonly getRegistered: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The phones; null for the rule. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Registered"];
                };
            };
        };
    };
    readonly setRegistered: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SetRegistered"];
            };
        };
        readonly responses: {
            /** @description The phones. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Registered"];
                };
            };
        };
    };
    readonly scanCode: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["Scan"];
            };
        };
        readonly responses: {
            /** @description The number, connected. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Number"];
                };
            };
        };
    };
    readonly logOut: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The number, disconnected. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Number"];
                };
            };
        };
    };
    readonly tick: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly message_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Tick"];
            };
        };
        readonly responses: {
            /** @description The message as it is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Message"];
                };
            };
        };
    };
    readonly listSent: {
        readonly parameters: {
            readonly query?: ListSentQuery;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of copies. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Sent"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly getClock: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The service's time. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Clock"];
                };
            };
        };
    };
    readonly advanceClock: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["AdvanceClock"];
            };
        };
        readonly responses: {
            /** @description The service's time. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Clock"];
                };
            };
        };
    };
    readonly settle: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path?: never;
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Nothing is due or in flight. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Settled"];
                };
            };
        };
    };
    readonly listReceivers: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The receivers, by name. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Receiver"][];
                    };
                };
            };
        };
    };
    readonly setReceiverAnswer: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                /** @description The label before `.receiver.test`, in lower case. */
                readonly name: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SetReceiverAnswer"];
            };
        };
        readonly responses: {
            /** @description The receiver. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Receiver"];
                };
            };
        };
    };
    readonly listReceiverCalls: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                /** @description The label before `.receiver.test`, in lower case. */
                readonly name: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The latest 100 calls, newest first. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["ReceiverCall"][];
                    };
                };
            };
        };
    };
    readonly clearReceiverCalls: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                /** @description The label before `.receiver.test`, in lower case. */
                readonly name: string;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The receiver, without calls. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Receiver"];
                };
            };
        };
    };
    readonly listCampaigns: {
        readonly parameters: {
            readonly query?: ListCampaignsQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of campaigns. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Campaign"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly createCampaign: {
        readonly parameters: {
            readonly query?: CreateCampaignQuery;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["CampaignInput"];
            };
        };
        readonly responses: {
            /** @description The draft. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Campaign"];
                };
            };
        };
    };
    readonly getCampaign: {
        readonly parameters: {
            readonly query?: GetCampaignQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The campaign. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Campaign"];
                };
            };
        };
    };
    readonly deleteCampaign: {
        readonly parameters: {
            readonly query?: DeleteCampaignQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description Deleted. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly updateCampaign: {
        readonly parameters: {
            readonly query?: UpdateCampaignQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["ChangeCampaign"];
            };
        };
        readonly responses: {
            /** @description The changed campaign. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Campaign"];
                };
            };
        };
    };
    readonly listCampaignRows: {
        readonly parameters: {
            readonly query?: ListCampaignRowsQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of rows. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["CampaignRow"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly addCampaignRows: {
        readonly parameters: {
            readonly query?: AddCampaignRowsQuery;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["AddRows"];
                readonly "multipart/form-data": {
                    /**
                     * Format: binary
                     * @description At most 33554432 bytes.
                     */
                    readonly file: string;
                };
            };
        };
        readonly responses: {
            /** @description What was added. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CampaignRowsAdded"];
                };
            };
        };
    };
    readonly clearCampaignRows: {
        readonly parameters: {
            readonly query?: ClearCampaignRowsQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description How many rows it had. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CampaignRowsCleared"];
                };
            };
        };
    };
    readonly getCampaignRow: {
        readonly parameters: {
            readonly query?: GetCampaignRowQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
                readonly row: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The row. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CampaignRow"];
                };
            };
        };
    };
    readonly downloadCampaignResults: {
        readonly parameters: {
            readonly query?: DownloadCampaignResultsQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description UTF-8 with a byte order mark, commas and CRLF. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "text/csv": string;
                };
            };
        };
    };
    readonly forecastCampaign: {
        readonly parameters: {
            readonly query?: ForecastCampaignQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The forecast. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["CampaignForecast"];
                };
            };
        };
    };
    readonly startCampaign: {
        readonly parameters: {
            readonly query?: StartCampaignQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The running or scheduled campaign. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Campaign"];
                };
            };
        };
    };
    readonly pauseCampaign: {
        readonly parameters: {
            readonly query?: PauseCampaignQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The paused campaign. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Campaign"];
                };
            };
        };
    };
    readonly stopCampaign: {
        readonly parameters: {
            readonly query?: StopCampaignQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The stopped campaign. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Campaign"];
                };
            };
        };
    };
    readonly resumeCampaign: {
        readonly parameters: {
            readonly query?: ResumeCampaignQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly campaign_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: {
            readonly content: {
                readonly "application/json": components["schemas"]["ResumeCampaign"];
            };
        };
        readonly responses: {
            /** @description The running or scheduled campaign. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Campaign"];
                };
            };
        };
    };
    readonly getConversations: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The settings, and what is stored. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Conversations"];
                };
            };
        };
    };
    readonly setConversations: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SetConversations"];
            };
        };
        readonly responses: {
            /** @description The settings. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ConversationSettings"];
                };
            };
        };
    };
    readonly deleteConversations: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description They are off. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ConversationsOff"];
                };
            };
        };
    };
    readonly listWorkspaceReceivedMessages: {
        readonly parameters: {
            readonly query?: ListWorkspaceReceivedMessagesQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of received messages. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["ReceivedMessage"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly getWorkspaceReceivedMessage: {
        readonly parameters: {
            readonly query?: GetWorkspaceReceivedMessageQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly received_message_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The message. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReceivedMessage"];
                };
            };
        };
    };
    readonly deleteWorkspaceReceivedMessage: {
        readonly parameters: {
            readonly query?: DeleteWorkspaceReceivedMessageQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly received_message_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is erased. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly listWorkspaceChats: {
        readonly parameters: {
            readonly query?: ListWorkspaceChatsQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of chats. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["Chat"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly getWorkspaceChat: {
        readonly parameters: {
            readonly query?: GetWorkspaceChatQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly chat_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The chat. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Chat"];
                };
            };
        };
    };
    readonly deleteWorkspaceChat: {
        readonly parameters: {
            readonly query?: DeleteWorkspaceChatQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly chat_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description It is erased. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Deleted"];
                };
            };
        };
    };
    readonly listWorkspaceChatMessages: {
        readonly parameters: {
            readonly query?: ListWorkspaceChatMessagesQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly chat_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description A page of entries. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["ChatEntry"][];
                        /** @description The `cursor` of the next page; null on the last one. */
                        readonly next_cursor: string | null;
                    };
                };
            };
        };
    };
    readonly markWorkspaceChatRead: {
        readonly parameters: {
            readonly query?: MarkWorkspaceChatReadQuery;
            readonly header?: {
                /** @description A repeat with the same key and request within 24 hours gets the first answer and changes nothing. Errors are not stored. */
                readonly "Idempotency-Key"?: components["parameters"]["Idempotency-Key"];
            };
            readonly path: {
                readonly id: number;
                readonly chat_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["MarkRead"];
            };
        };
        readonly responses: {
            /** @description The mark is stored: how far the chat is read by now. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReadChat"];
                };
            };
        };
    };
    readonly writeMessage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Write"];
            };
        };
        readonly responses: {
            /** @description A message with that `remote_id` was stored already: that one. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReceivedMessage"];
                };
            };
            /** @description The message, stored. */
            readonly 201: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReceivedMessage"];
                };
            };
            /** @description It waits: for the number, which is away, or for a copy that can be read, with that `remote_id`. */
            readonly 202: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["RemoteId"];
                };
            };
        };
    };
    readonly listReadMarks: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The marks. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": {
                        readonly data: readonly components["schemas"]["ReadMark"][];
                    };
                };
            };
        };
    };
    readonly editMessage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Edit"];
            };
        };
        readonly responses: {
            /** @description The message as it is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReceivedMessage"];
                };
            };
        };
    };
    readonly revokeMessage: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The message as it is now. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["ReceivedMessage"];
                };
            };
        };
    };
    readonly react: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly message_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["React"];
            };
        };
        readonly responses: {
            /** @description The message. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Message"];
                };
            };
        };
    };
    readonly setAway: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["SetAway"];
            };
        };
        readonly responses: {
            /** @description Whether the number is away. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["SetAway"];
                };
            };
        };
    };
    readonly skipMessages: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The platform has skipped. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Skipped"];
                };
            };
        };
    };
    readonly restrictNumber: {
        readonly parameters: {
            readonly query?: never;
            readonly header?: never;
            readonly path: {
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody: {
            readonly content: {
                readonly "application/json": components["schemas"]["Restrict"];
            };
        };
        readonly responses: {
            /** @description The restrictions. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Restrictions"];
                };
            };
        };
    };
    readonly getWorkspaceNumberRestrictions: {
        readonly parameters: {
            readonly query?: GetWorkspaceNumberRestrictionsQuery;
            readonly header?: never;
            readonly path: {
                readonly id: number;
                readonly number_id: number;
            };
            readonly cookie?: never;
        };
        readonly requestBody?: never;
        readonly responses: {
            /** @description The restrictions. */
            readonly 200: {
                headers: {
                    readonly [name: string]: unknown;
                };
                content: {
                    readonly "application/json": components["schemas"]["Restrictions"];
                };
            };
        };
    };
}
export interface AddRows {
    readonly rows: readonly components["schemas"]["RowInput"][];
}
export interface AdvanceClock {
    readonly seconds: number;
}
export interface Behaviour {
    /** @enum {string} */
    readonly send: "succeed" | "fail" | "hang" | "drop";
    readonly error_message: string | null;
    readonly latency_ms: number;
    readonly groups: readonly string[];
}
export interface BrowserSession {
    /** @enum {string} */
    readonly kind: "operator" | "portal";
    /** @description Null for the operator. */
    readonly workspace_id: number | null;
    /**
     * @description The operator's is `owner`.
     * @enum {string}
     */
    readonly role: "owner" | "administrator" | "member";
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly expires_at: string;
    /**
     * Format: date-time
     * @description The service's time.
     * @example 2030-01-31T07:00:00Z
     */
    readonly now: string;
    /** @description Whether there are emulator controls. */
    readonly simulated: boolean;
    /** @description Whether the emulator can move the clock. */
    readonly adjustable_clock: boolean;
    /** @description Whether Telegram accounts can be logged in. */
    readonly telegram: boolean;
    /** @description Where a portal leads back to. */
    readonly return_url: string | null;
}
export interface CallbackDelivery {
    readonly id: number;
    /** @description `evt_` and 24 characters. */
    readonly event_id: string;
    /** @enum {string} */
    readonly type: "message.sent" | "message.failed" | "message.cancelled" | "message.expired" | "qr-generated" | "connected" | "disconnected";
    /** @description From 1. */
    readonly attempt: number;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly attempted_at: string;
    /** @description HTTP status of the response; null without one. */
    readonly response_status: number | null;
    /**
     * @description Null when it was delivered.
     * @enum {string|null}
     */
    readonly error: "timeout" | "dns" | "tls" | "connection" | "blocked_address" | "http_status" | null;
    readonly duration_ms: number;
    /**
     * Format: date-time
     * @description When the next attempt comes; null without one.
     * @example 2030-01-31T07:00:00Z
     */
    readonly next_attempt_at: string | null;
    /** @description Where it was sent; members see it without its query. */
    readonly url: string;
}
export interface CallbackSecret {
    /** @description 64 hexadecimal characters that sign version 1 callbacks. */
    readonly secret: string;
}
export interface Campaign {
    readonly id: number;
    /** @enum {string} */
    readonly mode: "live" | "test";
    readonly name: string;
    /** @enum {string} */
    readonly state: "draft" | "scheduled" | "running" | "paused" | "done" | "stopped";
    /**
     * @description Why it is paused; else null.
     * @enum {string|null}
     */
    readonly state_reason: "requested" | "number_restricted" | "no_numbers" | "restored" | null;
    /** @description The template. */
    readonly text: string;
    readonly media: components["schemas"]["Media"] | null;
    /** @description Sending numbers; null for any of the workspace. */
    readonly from: readonly number[] | null;
    /** @description Of all its messages. */
    readonly reference: string;
    readonly timezone: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly send_at: string | null;
    /** @description Messages leave only then. */
    readonly hours: {
        readonly days: readonly ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
        /** @example 09:00 */
        readonly from: string;
        /** @example 09:00 */
        readonly until: string;
    } | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly expires_at: string | null;
    /** @description What it leaves to others of each number's 24 hours. */
    readonly quota_reserve: number;
    readonly default_country_code: string | null;
    /** @enum {string} */
    readonly duplicates: "keep" | "drop";
    /** @description How many rows have each status, exact when the answer is made. */
    readonly rows: components["schemas"]["CampaignRowCounts"];
    /** @description Why no row is taken on now; null unless `scheduled` or `running`. Empty: the next look takes rows, or none is left. */
    readonly waits_for: readonly {
        /** @enum {string} */
        readonly reason: "disabled" | "demo" | "scheduled" | "hours" | "no_credits" | "not_connected" | "number_paused" | "quota" | "sending";
        /**
         * Format: date-time
         * @description When it ends by itself; null when unknown.
         * @example 2030-01-31T07:00:00Z
         */
        readonly until: string | null;
    }[] | null;
    /**
     * Format: date-time
     * @description As far as is known now; null when unknown.
     * @example 2030-01-31T07:00:00Z
     */
    readonly finishes_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly started_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly ended_at: string | null;
}
export interface CampaignForecast {
    /** @description Pending rows. */
    readonly rows: number;
    readonly allowance: {
        /** @description Messages that the plan still accepts; null for unlimited. */
        readonly remaining: number | null;
        /** @description How many rows it is short of. */
        readonly missing: number;
    };
    readonly numbers: readonly {
        readonly number_id: number;
        readonly usable: boolean;
        /** @description Now in its 24 hours, the reserve taken off. */
        readonly room: number;
        /** @description Its share. */
        readonly rows: number;
    }[];
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly starts_at: string | null;
    /**
     * Format: date-time
     * @description Null when the allowance is short, or no number is usable.
     * @example 2030-01-31T07:00:00Z
     */
    readonly finishes_at: string | null;
    /** @description Why no row is taken on now; null unless `scheduled` or `running`. Empty: the next look takes rows, or none is left. */
    readonly waits_for: readonly {
        /** @enum {string} */
        readonly reason: "disabled" | "demo" | "scheduled" | "hours" | "no_credits" | "not_connected" | "number_paused" | "quota" | "sending";
        /**
         * Format: date-time
         * @description When it ends by itself; null when unknown.
         * @example 2030-01-31T07:00:00Z
         */
        readonly until: string | null;
    }[] | null;
}
export interface CampaignInput {
    /** @description Not blank. */
    readonly name: string;
    /**
     * @description Template, required without media: `{column}` is the row's value, `{column|words}` has words for where it is missing or blank, `{{` and `}}` are braces.
     * @default
     */
    readonly text?: string;
    /** @description For all rows. */
    readonly media?: components["schemas"]["MediaReference"] | null;
    /** @description Sending numbers: null for any of the workspace, an id, or 1 to 50 ids. */
    readonly from?: null | number | readonly number[];
    /** @description Of all its messages; null for `campaign-<id>`. */
    readonly reference?: string | null;
    /**
     * @description IANA name; required with `hours`, and for times of rows without an offset.
     * @example Europe/Berlin
     */
    readonly timezone?: string | null;
    /**
     * @description It begins then, in the future; null: when it is started.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly send_at?: string | null;
    /** @description Messages leave only then, in `timezone`. */
    readonly hours?: components["schemas"]["SendingHours"] | null;
    /**
     * @description In the future and after the time to begin: no message leaves later.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly expires_at?: string | null;
    /**
     * @description How many of the 1,000 in each number's 24 hours it leaves to others.
     * @default 200
     */
    readonly quota_reserve?: number;
    /** @description Digits of a calling code, for phones without `+`. */
    readonly default_country_code?: string | null;
    /**
     * @description `drop` refuses later rows of the same recipient.
     * @default keep
     * @enum {string}
     */
    readonly duplicates?: "keep" | "drop";
}
export interface CampaignRow {
    readonly row: number;
    /** @description Its line in the file; null unless from one. */
    readonly line: number | null;
    /** @description As the row named it; null once its message was erased. */
    readonly to: components["schemas"]["ReminderRecipient"] | null;
    /**
     * @description What happened to it: its own status, or its message's.
     * @enum {string}
     */
    readonly status: "pending" | "refused" | "skipped" | "queued" | "sent" | "delivered" | "read" | "failed" | "cancelled" | "expired";
    /** @description As it would be sent or was sent; null when refused. */
    readonly text: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly send_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly expires_at: string | null;
    readonly message_id: number | null;
    readonly number_id: number | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly taken_on_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly sent_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly delivered_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly read_at: string | null;
    /** @description Why it was refused or skipped, or why its message failed. */
    readonly error: {
        readonly code: string;
        readonly message: string;
        readonly field: string | null;
        /** @description Of a duplicate: the first row with the recipient. */
        readonly row: number | null;
    } | null;
}
export interface CampaignRowCounts {
    /** @description The sum of the others. */
    readonly total: number;
    /** @description Not taken on yet. */
    readonly pending: number;
    readonly refused: number;
    /** @description Not taken on any more. */
    readonly skipped: number;
    readonly queued: number;
    readonly sent: number;
    readonly delivered: number;
    readonly read: number;
    readonly failed: number;
    readonly cancelled: number;
    readonly expired: number;
}
export interface CampaignRowsAdded {
    readonly first_row: number;
    readonly last_row: number;
    /** @description Rows that can be sent. */
    readonly pending: number;
    /** @description Rows that cannot be sent; they never stop the others. */
    readonly refused: number;
    /** @description The first 100 refused ones. */
    readonly problems: readonly components["schemas"]["CampaignRow"][];
}
export interface CampaignRowsCleared {
    /** @description How many. */
    readonly deleted: number;
}
export interface CancelFilter {
    /**
     * @description Default: both.
     * @enum {string}
     */
    readonly status?: "queued" | "scheduled";
    /** @description Id of the sending number. */
    readonly from?: number;
    /**
     * @description The recipient's phone, E.164 with a leading +.
     * @example +15550001234
     */
    readonly to?: string;
    /**
     * @description ISO 8601 with an offset.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly since?: string;
    /**
     * @description ISO 8601 with an offset.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly until?: string;
}
/** @description Exactly one of `ids` and `filter`. */
export type CancelMessages = {
    /** @description Messages of either mode; either these or `filter`. */
    readonly ids?: readonly number[];
    /** @description Waiting messages, the first by id. */
    readonly filter?: components["schemas"]["CancelFilter"];
    /**
     * @description Of `filter`.
     * @default live
     * @enum {string}
     */
    readonly mode?: "live" | "test";
} & (unknown | unknown);
/** @description Only the fields to change. */
export interface ChangeCampaign {
    /** @description Not blank. */
    readonly name?: string;
    /**
     * @description Template, required without media: `{column}` is the row's value, `{column|words}` has words for where it is missing or blank, `{{` and `}}` are braces.
     * @default
     */
    readonly text?: string;
    /** @description For all rows. */
    readonly media?: components["schemas"]["MediaReference"] | null;
    /** @description Sending numbers: null for any of the workspace, an id, or 1 to 50 ids. */
    readonly from?: null | number | readonly number[];
    /** @description Of all its messages; null for `campaign-<id>`. */
    readonly reference?: string | null;
    /**
     * @description IANA name; required with `hours`, and for times of rows without an offset.
     * @example Europe/Berlin
     */
    readonly timezone?: string | null;
    /**
     * @description It begins then, in the future; null: when it is started.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly send_at?: string | null;
    /** @description Messages leave only then, in `timezone`. */
    readonly hours?: components["schemas"]["SendingHours"] | null;
    /**
     * @description In the future and after the time to begin: no message leaves later.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly expires_at?: string | null;
    /**
     * @description How many of the 1,000 in each number's 24 hours it leaves to others.
     * @default 200
     */
    readonly quota_reserve?: number;
    /** @description Digits of a calling code, for phones without `+`. */
    readonly default_country_code?: string | null;
    /**
     * @description `drop` refuses later rows of the same recipient.
     * @default keep
     * @enum {string}
     */
    readonly duplicates?: "keep" | "drop";
}
export interface ChangeNumber {
    readonly label?: string;
    /** @description Omitted limits stay; null removes a limit. */
    readonly pacing?: components["schemas"]["ChangePacing"];
    /**
     * @description URL of the connection's proxy (http, https, socks5 …); null for none. Never shown again: answers tell host and port.
     * @example socks5://user:password@192.0.2.10:1080
     */
    readonly proxy_url?: string | null;
}
export interface ChangePacing {
    /** @description The rest after a message, at least. */
    readonly min_interval_ms?: number | null;
    /** @description Maximum random extra rest after each message. */
    readonly jitter_ms?: number | null;
    readonly per_minute?: number | null;
    readonly per_hour?: number | null;
    /** @description Recipients that the number never wrote to before, in any 24 hours. */
    readonly new_recipients_per_day?: number | null;
}
/** @description Only the fields to change. */
export interface ChangeReminder {
    /** @description Not blank. */
    readonly name?: string;
    readonly to?: components["schemas"]["Recipient"];
    /** @description Id of a connected number; null or left out: any connected one, at each run. Required for a key limited to some numbers. */
    readonly from?: number | null;
    /** @description Required when the reminder is made. */
    readonly text?: string;
    readonly media?: components["schemas"]["MediaReference"] | null;
    readonly schedule?: components["schemas"]["ScheduleInput"];
    /** @description False pauses it, true resumes it. */
    readonly active?: boolean;
}
/** @description Only the fields to change. */
export interface ChangeWebhook {
    /** @description Public `https://` address. */
    readonly url?: string;
    /** @description Event types to deliver. Default: the four of messages. The others need conversations. */
    readonly events?: readonly ("message.sent" | "message.failed" | "message.cancelled" | "message.expired" | "message.delivered" | "message.read" | "number.connected" | "number.disconnected" | "number.paused" | "number.resumed" | "number.gap" | "number.restricted" | "number.unrestricted" | "message.received" | "message.echo" | "message.edited" | "message.revoked" | "message.reaction" | "message.recovered")[];
    /** @description A note. */
    readonly description?: string;
}
/** @description Only the fields to change. */
export interface ChangeWorkspace {
    /** @description Not blank. */
    readonly name?: string;
    readonly demo?: boolean;
    readonly account_disabled?: boolean;
    readonly api_v2_enabled?: boolean;
    readonly plan?: components["schemas"]["PlanInput"] | null;
    /** @description Days from the end of a message to its erasure; null for the service's own setting alone. The lower value applies. */
    readonly retention_days?: number | null;
}
export interface Chat {
    readonly id: number;
    readonly number_id: number;
    /** @enum {string} */
    readonly type: "person" | "group";
    /** @description `+` and digits. */
    readonly phone: string | null;
    /** @description WhatsApp's other name of the account, in digits. */
    readonly lid: string | null;
    /** @description Telegram's id of the account, in digits. */
    readonly user_id: string | null;
    readonly username: string | null;
    /** @description Of the person or the group. */
    readonly name: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly last_received_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly last_sent_at: string | null;
    /** @description Messages of others that are not marked as read. */
    readonly unread: number;
    readonly read_up_to: number | null;
    /** @description The chat that continues in its place: both were with the same person. */
    readonly merged_into: number | null;
}
/** @description One of the two is null. */
export interface ChatEntry {
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly at: string;
    readonly received_message: components["schemas"]["ReceivedMessage"] | null;
    readonly message: components["schemas"]["Message"] | null;
}
export interface CheckNumbers {
    readonly phones: readonly string[];
    /** @description A note, not blank. */
    readonly name?: string | null;
    /** @description Id of the connected WhatsApp number that asks. Default: the only connected one. */
    readonly from?: number | null;
}
export interface Clock {
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly now: string;
}
export interface Connect {
    /** @description Link to a PNG of the QR code, valid for 10 minutes; each call makes a new one. */
    readonly qr_code_url: string | null;
    /** @description Code of 8 characters to type on the phone; null until it is ready. */
    readonly pairing_code: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly pairing_code_expires_at: string | null;
    /** @description True from the scan or code entry until linking finishes. */
    readonly linking: boolean;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly requested_at: string | null;
}
export interface ConnectNumber {
    /**
     * @description How to link it.
     * @default qr
     * @enum {string}
     */
    readonly login_method?: "qr" | "phone_code";
    /**
     * @description Required with `phone_code`: E.164 with a leading +. Unused with `qr`.
     * @example +15550001234
     */
    readonly phone?: string;
    /** @description Reconnects this number instead of adding one. Required for a key limited to some numbers. */
    readonly number_id?: number;
}
export interface Connection {
    /**
     * @description `waiting`: between two connection attempts.
     * @enum {string}
     */
    readonly state: "connected" | "connecting" | "waiting" | "disconnected";
    /**
     * @description Why it is not connected, or sends nothing while connected; null when it is connected and sends.
     * @enum {string|null}
     */
    readonly reason: "logged_out" | "replaced" | "banned" | "restricted" | "client_outdated" | "passkey_required" | "link_expired" | "connection_lost" | "not_linked" | "paused" | "account_disabled" | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly since: string;
    /**
     * Format: date-time
     * @description When the remote server last sent anything; null when it never did.
     * @example 2030-01-31T07:00:00Z
     */
    readonly last_seen_at: string | null;
    /**
     * Format: date-time
     * @description When its pause ends; null without a pause, and for one that lasts until it is resumed.
     * @example 2030-01-31T07:00:00Z
     */
    readonly paused_until: string | null;
    readonly reconnects: number;
    /** @description The process that holds the connection. Null for a portal. */
    readonly worker: string | null;
    /** @description Waiting messages, scheduled ones included. */
    readonly waiting: number;
    /**
     * Format: date-time
     * @description When the next of them may leave; null when unknown.
     * @example 2030-01-31T07:00:00Z
     */
    readonly next_send_at: string | null;
    readonly sent_24h: number;
}
export interface Contact {
    readonly id: number;
    readonly name: string;
    /** @description E.164 with a leading +; null when there is a username. */
    readonly phone: string | null;
    /** @description As it was given; null when there is a phone. */
    readonly username: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
}
export interface ConversationSettings {
    readonly groups: boolean;
    readonly retention_days: number;
    /** @enum {string} */
    readonly media: "on_arrival" | "on_demand" | "off";
    readonly max_file_bytes: number;
    readonly max_storage_bytes: number;
    readonly hold_new_chats: boolean;
    /**
     * Format: date-time
     * @description When they were turned on.
     * @example 2030-01-31T07:00:00Z
     */
    readonly since: string;
}
export interface Conversations {
    readonly groups: boolean;
    readonly retention_days: number;
    /** @enum {string} */
    readonly media: "on_arrival" | "on_demand" | "off";
    readonly max_file_bytes: number;
    readonly max_storage_bytes: number;
    readonly hold_new_chats: boolean;
    /**
     * Format: date-time
     * @description When they were turned on.
     * @example 2030-01-31T07:00:00Z
     */
    readonly since: string;
    /** @description What is kept of what people wrote. */
    readonly stored: {
        readonly messages: number;
        /** @description Of received files. */
        readonly bytes: number;
        /** @description When the oldest was received; null when there are none. */
        readonly oldest_at: string | null;
    };
}
export interface ConversationsOff {
    /** @enum {boolean} */
    readonly deleted: true;
}
/** @description Exactly one of `phone` and `username`. */
export type CreateContact = {
    /** @description Not blank. */
    readonly name: string;
    /**
     * @description E.164 with a leading +; spaces and dashes are taken out.
     * @example +15550001234
     */
    readonly phone?: string;
    /**
     * @description A Telegram user: `@name`, a `t.me/name` link, or `tg:` and a user id.
     * @example @example
     */
    readonly username?: string;
} & (unknown | unknown);
/** @description A version 1 key takes `version` alone; a version 2 key needs a name. */
export type CreateKey = components["schemas"]["CreateKeyV1"] | components["schemas"]["CreateKeyV2"];
export interface CreateKeyV1 {
    /** @enum {number} */
    readonly version: 1;
}
export interface CreateKeyV2 {
    /** @enum {number} */
    readonly version: 2;
    /** @description Not blank. */
    readonly name: string;
    /**
     * @description A test key validates everything and sends nothing.
     * @default live
     * @enum {string}
     */
    readonly mode?: "live" | "test";
    /**
     * @description What the key may do.
     * @default all
     */
    readonly scopes?: "all" | readonly ("messages:send" | "messages:read" | "reminders" | "numbers" | "media" | "contacts" | "chats:read" | "chats:write")[];
    /**
     * @description The only numbers that the key may use; null for all, later ones included.
     * @default null
     */
    readonly number_ids?: readonly number[] | null;
    /**
     * @description 30, 90 or 365 days; null for never.
     * @default null
     * @enum {string|null}
     */
    readonly expires_in?: "30d" | "90d" | "1y" | null;
}
export interface CreateNumber {
    /** @enum {string} */
    readonly platform: "whatsapp" | "telegram";
    /**
     * @description E.164 with a leading +; spaces and dashes are taken out.
     * @example +15550001234
     */
    readonly phone: string;
    /**
     * @description Display name.
     * @default
     */
    readonly label?: string;
    /**
     * @description Default: `connected`; with live transports `disconnected`, which alone is possible there.
     * @enum {string}
     */
    readonly status?: "connected" | "disconnected";
}
export interface CreatePortalSession {
    /**
     * @description What the session may do.
     * @enum {string}
     */
    readonly role: "owner" | "administrator" | "member";
    /**
     * @description Seconds that the session lasts from its first use.
     * @default 3600
     */
    readonly expires_in?: number;
    /**
     * @description Where the portal leads back to: an `https://` address, or with simulated phones an `http://` one of this machine; null for nowhere.
     * @default null
     */
    readonly return_url?: string | null;
}
export interface CreateReminder {
    /** @description Not blank. */
    readonly name: string;
    readonly to: components["schemas"]["Recipient"];
    /** @description Id of a connected number; null or left out: any connected one, at each run. Required for a key limited to some numbers. */
    readonly from?: number | null;
    /** @description Required when the reminder is made. */
    readonly text?: string;
    readonly media?: components["schemas"]["MediaReference"] | null;
    readonly schedule: components["schemas"]["ScheduleInput"];
    /**
     * @description False pauses it, true resumes it.
     * @default true
     */
    readonly active?: boolean;
}
export interface CreateWebhook {
    /** @description Public `https://` address. */
    readonly url: string;
    /** @description Event types to deliver. Default: the four of messages. The others need conversations. */
    readonly events?: readonly ("message.sent" | "message.failed" | "message.cancelled" | "message.expired" | "message.delivered" | "message.read" | "number.connected" | "number.disconnected" | "number.paused" | "number.resumed" | "number.gap" | "number.restricted" | "number.unrestricted" | "message.received" | "message.echo" | "message.edited" | "message.revoked" | "message.reaction" | "message.recovered")[];
    /** @description A note. */
    readonly description?: string;
}
export interface CreateWorkspace {
    /** @description Not blank. */
    readonly name: string;
    /**
     * @description A demo workspace cannot use the API with keys.
     * @default false
     */
    readonly demo?: boolean;
    /**
     * @description Whether version 2 keys work.
     * @default true
     */
    readonly api_v2_enabled?: boolean;
    /** @description Default: unlimited. Null: no active plan. */
    readonly plan?: components["schemas"]["PlanInput"] | null;
}
export interface CurrentSession {
    /** @description Null without a valid cookie. */
    readonly session: components["schemas"]["BrowserSession"] | null;
}
export interface Deleted {
    readonly id: number;
    /** @enum {boolean} */
    readonly deleted: true;
}
export interface Delivery {
    readonly id: number;
    /** @description `evt_` and 24 characters. */
    readonly event_id: string;
    /** @enum {string} */
    readonly type: "message.sent" | "message.failed" | "message.cancelled" | "message.expired" | "message.delivered" | "message.read" | "number.connected" | "number.disconnected" | "number.paused" | "number.resumed" | "number.gap" | "number.restricted" | "number.unrestricted" | "message.received" | "message.echo" | "message.edited" | "message.revoked" | "message.reaction" | "message.recovered" | "ping";
    /** @description From 1; starts again for each redelivery. */
    readonly attempt: number;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly attempted_at: string;
    /** @description HTTP status of the response; null without one. */
    readonly response_status: number | null;
    /**
     * @description Null when it was delivered.
     * @enum {string|null}
     */
    readonly error: "timeout" | "dns" | "tls" | "connection" | "blocked_address" | "http_status" | null;
    readonly duration_ms: number;
    /**
     * Format: date-time
     * @description When the next attempt comes; null without one.
     * @example 2030-01-31T07:00:00Z
     */
    readonly next_attempt_at: string | null;
}
export interface Edit {
    readonly text: string;
}
export interface Epoch {
    /** @description Increases with each restore; 1 before the first. */
    readonly epoch: number;
    /** @description Number of held messages and reminders. */
    readonly held: number;
}
/**
 * @description Stable identifier; branch on it. Every code is explained at `/docs/errors`.
 * @enum {string}
 */
export type ErrorCode = "api_v2_not_enabled" | "missing_api_key" | "invalid_api_key" | "v1_key_on_v2" | "api_key_revoked" | "api_key_expired" | "too_many_auth_failures" | "demo_account" | "account_disabled" | "missing_scope" | "number_not_allowed" | "rate_limited" | "not_found" | "method_not_allowed" | "invalid_json" | "unsupported_content_type" | "request_too_large" | "validation_failed" | "invalid_cursor" | "invalid_idempotency_key" | "idempotency_key_reused" | "idempotency_in_progress" | "internal_error" | "service_unavailable" | "text_required" | "text_too_long" | "too_many_recipients" | "invalid_datetime" | "invalid_phone" | "invalid_username" | "username_needs_telegram" | "contact_not_found" | "media_not_found" | "invalid_media_url" | "time_in_past" | "number_not_found" | "from_required" | "no_credits" | "message_rejected" | "number_daily_cap_reached" | "message_not_found" | "not_cancellable" | "received_message_not_found" | "chat_not_found" | "reply_not_possible" | "plan_required" | "number_limit_reached" | "already_connected" | "number_exists" | "contact_exists" | "connect_in_progress" | "invalid_cron" | "invalid_timezone" | "reminder_not_found" | "campaign_not_found" | "row_not_found" | "campaign_limit_reached" | "campaign_not_started" | "campaign_started" | "campaign_has_rows" | "campaign_ended" | "upload_in_progress" | "invalid_template" | "too_many_rows" | "no_rows" | "column_not_found" | "invalid_csv" | "from_row_required" | "webhook_limit_reached" | "invalid_webhook_url" | "invalid_callback_url" | "webhook_not_found" | "webhook_stopped" | "event_not_found" | "storage_full" | "conversations_not_enabled" | "number_not_connected" | "number_check_not_found" | "missing_operator_token" | "invalid_operator_token" | "session_ended" | "invalid_portal_code" | "cross_site_request" | "portal_link_limit_reached" | "portal_session_not_found" | "delivery_not_found" | "operator_required" | "role_required" | "workspace_not_found" | "key_not_found" | "key_limit_reached" | "not_connecting" | "telegram_not_configured" | "login_not_found" | "invalid_code" | "invalid_password" | "already_restored" | "clock_not_adjustable";
export interface Figures {
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly now: string;
    /** @description Oldest first, up to the end of the present hour: 24 of 1 h, 28 of 6 h or 30 of 1 d. */
    readonly buckets: readonly components["schemas"]["FiguresBucket"][];
    /** @description Of the span before, which is as long. */
    readonly before: {
        readonly accepted: number;
        readonly sent: number;
        readonly failed: number;
    };
    /** @description Failed messages of the span by error code, most first. */
    readonly failures: readonly {
        readonly code: string;
        readonly count: number;
    }[];
    /** @description From due to sent: half of the span's messages waited no longer, to the step of a histogram. Null where nothing was sent. */
    readonly wait_p50_ms: number | null;
    /** @description From due to sent: 95 of 100 of the span's messages waited no longer, to the step of a histogram. Null where nothing was sent. */
    readonly wait_p95_ms: number | null;
    readonly waiting: {
        /** @description Counted up to 50,000. */
        readonly queued: number;
        /** @description Counted up to 50,000. */
        readonly scheduled: number;
        /**
         * Format: date-time
         * @description Of queued messages; null without any.
         * @example 2030-01-31T07:00:00Z
         */
        readonly oldest_due_at: string | null;
    };
    readonly allowance: {
        /** @description Null for unlimited. */
        readonly remaining: number | null;
    };
    readonly storage: {
        /** @description Of the files of both modes. */
        readonly used_bytes: number;
        readonly limit_bytes: number;
    };
}
export interface FiguresBucket {
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly at: string;
    readonly accepted: number;
    readonly sent: number;
    readonly failed: number;
    readonly expired: number;
    readonly cancelled: number;
    /** @description Attempts to deliver an event to a webhook endpoint. */
    readonly deliveries: number;
    /** @description Those of them that failed. */
    readonly deliveries_failed: number;
    /** @description From due to sent: half of the messages waited no longer, to the step of a histogram. Null where nothing was sent. */
    readonly wait_p50_ms: number | null;
    /** @description From due to sent: 95 of 100 messages waited no longer, to the step of a histogram. Null where nothing was sent. */
    readonly wait_p95_ms: number | null;
}
export interface Held {
    readonly workspace_id: number;
    readonly messages: number;
    readonly reminders: number;
    /** @description Number of campaigns that ask for the row to go on from when they are resumed. */
    readonly campaigns: number;
}
export interface HeldCancelled {
    readonly cancelled: number;
    /** @description True when more remain: a call handles at most 1,000. */
    readonly more: boolean;
}
export interface HeldFilter {
    /** @description Id of the sending number. */
    readonly from?: number;
    /**
     * @description ISO 8601 with an offset.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly since?: string;
    /**
     * @description ISO 8601 with an offset.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly until?: string;
}
export interface HeldMarked {
    readonly marked: number;
    /** @description True when more remain: a call handles at most 1,000. */
    readonly more: boolean;
}
export interface HeldReleased {
    readonly released: number;
    /** @description True when more remain: a call handles at most 1,000. */
    readonly more: boolean;
}
export interface Key {
    readonly id: number;
    /** @enum {number} */
    readonly version: 1 | 2;
    readonly name: string;
    /** @enum {string} */
    readonly mode: "live" | "test";
    readonly scopes: readonly ("messages:send" | "messages:read" | "reminders" | "numbers" | "media" | "contacts" | "chats:read" | "chats:write")[];
    readonly limited_to_numbers: boolean;
    /** @description Empty unless the key is limited to some numbers. */
    readonly number_ids: readonly number[];
    /**
     * Format: date-time
     * @description Null for never.
     * @example 2030-01-31T07:00:00Z
     */
    readonly expires_at: string | null;
    /** @description Last four characters of the key. */
    readonly last4: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly last_used_at: string | null;
    readonly last_used_ip: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly revoked_at: string | null;
}
export interface KeyInfo {
    readonly workspace: {
        readonly id: number;
        readonly name: string;
    };
    readonly key: {
        readonly id: number;
        readonly name: string;
        /** @enum {string} */
        readonly mode: "live" | "test";
        readonly scopes: readonly ("messages:send" | "messages:read" | "reminders" | "numbers" | "media" | "contacts" | "chats:read" | "chats:write")[];
        readonly limited_to_numbers: boolean;
        /** @description Empty unless the key is limited to some numbers. */
        readonly number_ids: readonly number[];
        /**
         * Format: date-time
         * @description UTC, whole seconds.
         * @example 2030-01-31T07:00:00Z
         */
        readonly expires_at: string | null;
    };
    /** @description Null when the workspace has no active plan. */
    readonly plan: {
        readonly name: string;
    } | null;
    readonly limits: {
        readonly requests_per_minute: number;
        readonly requests_per_day: number;
        readonly messages_per_number_per_day: number;
        /** @description Null when the plan allows unlimited messages. */
        readonly messages_remaining: number | null;
    };
}
export interface LastDelivery {
    /** @description `evt_` and 24 characters. */
    readonly event_id: string;
    /** @enum {string} */
    readonly type: "message.sent" | "message.failed" | "message.cancelled" | "message.expired" | "message.delivered" | "message.read" | "number.connected" | "number.disconnected" | "number.paused" | "number.resumed" | "number.gap" | "number.restricted" | "number.unrestricted" | "message.received" | "message.echo" | "message.edited" | "message.revoked" | "message.reaction" | "message.recovered" | "ping";
    /** @enum {string} */
    readonly status: "delivered" | "retrying" | "failed";
    /** @description From 1; starts again for each redelivery. */
    readonly attempt: number;
    /** @description HTTP status of the response; null without one. */
    readonly response_status: number | null;
    /**
     * @description Null when it was delivered.
     * @enum {string|null}
     */
    readonly error: "timeout" | "dns" | "tls" | "connection" | "blocked_address" | "http_status" | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly attempted_at: string;
    /**
     * Format: date-time
     * @description When the next attempt comes; null without one.
     * @example 2030-01-31T07:00:00Z
     */
    readonly next_attempt_at: string | null;
}
export interface LastRun {
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly due_at: string;
    /**
     * @description `missed`: no process ran when it was due, and it was too late to catch up.
     * @enum {string}
     */
    readonly outcome: "accepted" | "refused" | "missed";
    /** @description The accepted message; null without one. */
    readonly message_id: number | null;
    /** @description Why it was refused, with a code of the error catalogue. */
    readonly error: {
        readonly code: string;
        readonly message: string;
    } | null;
}
export interface ListedConnection {
    readonly number_id: number;
    /**
     * @description `waiting`: between two connection attempts.
     * @enum {string}
     */
    readonly state: "connected" | "connecting" | "waiting" | "disconnected";
    /**
     * @description Why it is not connected, or sends nothing while connected; null when it is connected and sends.
     * @enum {string|null}
     */
    readonly reason: "logged_out" | "replaced" | "banned" | "restricted" | "client_outdated" | "passkey_required" | "link_expired" | "connection_lost" | "not_linked" | "paused" | "account_disabled" | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly since: string;
    /**
     * Format: date-time
     * @description When the remote server last sent anything; null when it never did.
     * @example 2030-01-31T07:00:00Z
     */
    readonly last_seen_at: string | null;
    /**
     * Format: date-time
     * @description When its pause ends; null without a pause, and for one that lasts until it is resumed.
     * @example 2030-01-31T07:00:00Z
     */
    readonly paused_until: string | null;
    readonly reconnects: number;
    /** @description The process that holds the connection. Null for a portal. */
    readonly worker: string | null;
    /** @description Waiting messages, scheduled ones included. */
    readonly waiting: number;
    /**
     * Format: date-time
     * @description When the next of them may leave; null when unknown.
     * @example 2030-01-31T07:00:00Z
     */
    readonly next_send_at: string | null;
    readonly sent_24h: number;
    readonly quota: {
        /** @description In the fullest 24 hours that a message of now would share. */
        readonly used: number;
        readonly limit: number;
        /**
         * Format: date-time
         * @description When one more fits; null while it does.
         * @example 2030-01-31T07:00:00Z
         */
        readonly free_at: string | null;
    };
    /** @description Sent in each of the last 24 hours, oldest first. */
    readonly hours: readonly number[];
}
export interface LoggedDelivery {
    readonly id: number;
    /** @description `evt_` and 24 characters. */
    readonly event_id: string;
    /** @enum {string} */
    readonly type: "message.sent" | "message.failed" | "message.cancelled" | "message.expired" | "message.delivered" | "message.read" | "number.connected" | "number.disconnected" | "number.paused" | "number.resumed" | "number.gap" | "number.restricted" | "number.unrestricted" | "message.received" | "message.echo" | "message.edited" | "message.revoked" | "message.reaction" | "message.recovered" | "ping";
    /** @description From 1; starts again for each redelivery. */
    readonly attempt: number;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly attempted_at: string;
    /** @description HTTP status of the response; null without one. */
    readonly response_status: number | null;
    /**
     * @description Null when it was delivered.
     * @enum {string|null}
     */
    readonly error: "timeout" | "dns" | "tls" | "connection" | "blocked_address" | "http_status" | null;
    readonly duration_ms: number;
    /**
     * Format: date-time
     * @description When the next attempt comes; null without one.
     * @example 2030-01-31T07:00:00Z
     */
    readonly next_attempt_at: string | null;
    /** @description The event as it was sent; null once it is erased. */
    readonly request_body: string | null;
    /** @description The first KiB of the answer, with U+FFFD for U+0000; null without an answer, and where it is not UTF-8. */
    readonly response_body: string | null;
}
export interface MarkRead {
    /** @description Id of a received message of the chat: the last one that was read. */
    readonly up_to: number;
}
/** @description Exactly one of `ids` and `filter`. */
export type MarkSent = {
    /** @description Held messages; either these or `filter`. */
    readonly ids?: readonly number[];
    /** @description Held messages and reminders; `{}` for all. */
    readonly filter?: components["schemas"]["HeldFilter"];
    /**
     * @description ISO 8601 with an offset.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly sent_at?: string;
} & (unknown | unknown);
export interface Media {
    readonly media_id: number | null;
    /** @description Of a stored file: works for 26 hours; null once the file is gone. */
    readonly url: string | null;
    /** @enum {string|null} */
    readonly type: "image" | "file" | null;
    readonly file_name: string | null;
}
export interface MediaFile {
    /** @description The `media_id` of a message. */
    readonly id: number;
    readonly file_name: string;
    /** @enum {string} */
    readonly type: "image" | "file";
    /** @description Detected from the content; for text, from the ending of the name. */
    readonly mime_type: string;
    /** @description Bytes. */
    readonly size: number;
    /** @description Link to the file, valid for 26 hours; two answers within a second may have the same one. */
    readonly url: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
}
/** @description An image or a file: a link, or a file of the media directory. */
export type MediaReference = {
    /** @description Public http or https link of at most 2048 characters; fetched when the message is sent. */
    readonly url?: string;
    /** @description Id of an uploaded file. */
    readonly media_id?: number;
    /**
     * @description Type of the linked content, used only when the link itself names none.
     * @enum {string}
     */
    readonly type?: "image" | "file";
    /** @description Name that the recipient sees, for files. Cleaned as the name of an upload is: the last part of a path, without control characters. */
    readonly file_name?: string;
} & (unknown | unknown);
export interface Message {
    readonly id: number;
    /** @enum {string} */
    readonly status: "queued" | "scheduled" | "sent" | "delivered" | "read" | "failed" | "cancelled" | "expired";
    readonly from: {
        readonly id: number;
        /** @description Digits with country code, no +. While the message waits, the number's phone; afterwards the phone that it left from. Null while the number was never linked. */
        readonly phone: string | null;
        /** @enum {string} */
        readonly platform: "whatsapp" | "telegram";
    };
    readonly to: components["schemas"]["MessageRecipient"];
    /** @description The text, or the caption of the media. */
    readonly text: string;
    readonly media: components["schemas"]["Media"] | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly send_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly expires_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly sent_at: string | null;
    /** @description Why it failed, when `status` is `failed`. */
    readonly error: {
        /** @enum {string} */
        readonly code: "recipient_not_found" | "group_not_found" | "media_unavailable" | "send_failed" | "outcome_unknown";
        readonly message: string;
    } | null;
    /** @description The message that it quotes, as the command named it; absent without one. */
    readonly reply_to?: {
        readonly received_message_id: number;
    } | {
        readonly message_id: number;
    };
}
export type MessageRecipient = {
    /** @description The chat that the command named. */
    readonly chat_id: number;
    readonly phone?: string;
    readonly group?: string;
    readonly username?: string;
} | {
    readonly phone: string;
    /** @description The saved contact with that phone; null without one. */
    readonly contact_id: number | null;
} | {
    readonly group: string;
} | {
    readonly contact_id: number;
    readonly username: string;
} | {
    readonly username: string;
};
export interface MessageWaiting {
    /** @description What has to end first. Empty: only messages before it, or a worker's next look. */
    readonly for: readonly {
        /** @enum {string} */
        readonly reason: "disabled" | "held" | "campaign" | "paused" | "not_connected" | "scheduled" | "new_chats_closed" | "limited" | "no_room" | "resting" | "sending";
        /**
         * Format: date-time
         * @description When it ends by itself; null when unknown.
         * @example 2030-01-31T07:00:00Z
         */
        readonly until: string | null;
        /**
         * @description Why the workspace or number sends nothing; else null.
         * @enum {string|null}
         */
        readonly because: "logged_out" | "replaced" | "banned" | "restricted" | "client_outdated" | "passkey_required" | "link_expired" | "connection_lost" | "not_linked" | "paused" | "account_disabled" | null;
    }[];
    /** @description Due messages of its number that leave before it, counted up to 1,000. */
    readonly ahead: number;
}
export interface MessagesCancelled {
    readonly cancelled: number;
    /** @description Sent, ended or unknown by now, or still being sent after 5 seconds. */
    readonly not_cancellable: number;
    /** @description True when the filter leaves others: ask again. */
    readonly more: boolean;
}
export interface NewKey {
    readonly id: number;
    /** @enum {number} */
    readonly version: 1 | 2;
    readonly name: string;
    /** @enum {string} */
    readonly mode: "live" | "test";
    readonly scopes: readonly ("messages:send" | "messages:read" | "reminders" | "numbers" | "media" | "contacts" | "chats:read" | "chats:write")[];
    readonly limited_to_numbers: boolean;
    /** @description Empty unless the key is limited to some numbers. */
    readonly number_ids: readonly number[];
    /**
     * Format: date-time
     * @description Null for never.
     * @example 2030-01-31T07:00:00Z
     */
    readonly expires_at: string | null;
    /** @description Last four characters of the key. */
    readonly last4: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly last_used_at: string | null;
    readonly last_used_ip: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly revoked_at: string | null;
    /** @description The whole key, shown only here. */
    readonly key: string;
}
export interface NewPortalSession {
    readonly id: number;
    /** @enum {string} */
    readonly role: "owner" | "administrator" | "member";
    readonly return_url: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
    /**
     * Format: date-time
     * @description The link signs in until then, 15 minutes from its creation.
     * @example 2030-01-31T07:00:00Z
     */
    readonly code_expires_at: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly used_at: string | null;
    /**
     * Format: date-time
     * @description The end of the session; null until used.
     * @example 2030-01-31T07:00:00Z
     */
    readonly expires_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly revoked_at: string | null;
    /** @description The link, shown only here. It works once. */
    readonly url: string;
}
export interface SendingNumber {
    /** @description The `from` of messages and reminders. */
    readonly id: number;
    /** @description Digits with country code, no +; null until a phone scans the QR code. */
    readonly phone: string | null;
    readonly label: string;
    /** @enum {string} */
    readonly platform: "whatsapp" | "telegram";
    /** @enum {string} */
    readonly status: "connected" | "connecting" | "disconnected";
    /** @enum {string} */
    readonly login_method: "qr" | "phone_code";
    /** @description Set only while `status` is `connecting`, and only by GET of a single number. */
    readonly connect: components["schemas"]["Connect"] | null;
}
export interface NumberCheck {
    readonly id: number;
    readonly name: string | null;
    /** @enum {string} */
    readonly status: "pending" | "processing" | "completed";
    /** @description Results; a repeated phone counts each time. */
    readonly total: number;
    /** @description Results that are no longer pending. */
    readonly checked: number;
    readonly registered: number;
    readonly not_registered: number;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly completed_at: string | null;
}
export interface NumberCheckResult {
    readonly id: number;
    /** @description E.164 with a leading +. */
    readonly phone: string;
    /**
     * @description `failed`: could not be determined.
     * @enum {string}
     */
    readonly status: "pending" | "registered" | "not_registered" | "failed";
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly checked_at: string | null;
}
export interface OperatedConnect {
    /** @description Link to a PNG of the QR code, valid for 10 minutes; each call makes a new one. */
    readonly qr_code_url: string | null;
    /** @description Code of 8 characters to type on the phone; null until it is ready. */
    readonly pairing_code: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly pairing_code_expires_at: string | null;
    /** @description True from the scan or code entry until linking finishes. */
    readonly linking: boolean;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly requested_at: string | null;
    /**
     * Format: date-time
     * @description When another QR code replaces the shown one; null without one.
     * @example 2030-01-31T07:00:00Z
     */
    readonly qr_code_expires_at: string | null;
    /**
     * Format: date-time
     * @description When linking ends unless a phone takes a code.
     * @example 2030-01-31T07:00:00Z
     */
    readonly ends_at: string | null;
}
export interface OperatedNumber {
    /** @description The `from` of messages and reminders. */
    readonly id: number;
    /** @description Digits with country code, no +; null until a phone scans the QR code. */
    readonly phone: string | null;
    readonly label: string;
    /** @enum {string} */
    readonly platform: "whatsapp" | "telegram";
    /** @enum {string} */
    readonly status: "connected" | "connecting" | "disconnected";
    /** @enum {string} */
    readonly login_method: "qr" | "phone_code";
    /** @description Set only while `status` is `connecting`, and only by GET of a single number. Null for a portal's member. */
    readonly connect: components["schemas"]["OperatedConnect"] | null;
    readonly pacing: components["schemas"]["Pacing"];
    /** @description Address of its proxy; null without one. */
    readonly proxy: {
        readonly host: string;
        readonly port: number;
    } | null;
}
export interface Pacing {
    readonly min_interval_ms: number | null;
    readonly jitter_ms: number | null;
    readonly per_minute: number | null;
    readonly per_hour: number | null;
    readonly new_recipients_per_day: number | null;
}
export interface PauseNumber {
    /**
     * @description When the pause ends by itself, in the future; null: when it is resumed.
     * @default null
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly until?: string | null;
}
/** @description Each address is null when unknown. */
export interface Person {
    /** @description `+` and digits. */
    readonly phone: string | null;
    /** @description WhatsApp's other name of the account, in digits. */
    readonly lid: string | null;
    /** @description Telegram's id of the account, in digits. */
    readonly user_id: string | null;
    readonly username: string | null;
    /** @description What the person calls itself; nothing is decided by it. */
    readonly name: string | null;
}
export interface Plan {
    readonly name: string;
    /** @description Messages that the plan still accepts; null for unlimited. */
    readonly messages_remaining: number | null;
    readonly reminders: boolean;
    readonly qr_code_api: boolean;
    /** @description Maximum of numbers; null for unlimited. */
    readonly max_numbers: number | null;
    readonly media_storage_bytes: number;
}
export interface PlanInput {
    /** @description Not blank. */
    readonly name: string;
    /** @description Messages that may still be accepted; null for unlimited. */
    readonly messages_remaining: number | null;
    /** @description Whether reminders are included. */
    readonly reminders: boolean;
    /** @description Whether numbers can be connected through the API. */
    readonly qr_code_api: boolean;
    /** @description Maximum of numbers; null for unlimited. */
    readonly max_numbers: number | null;
    readonly media_storage_bytes: number;
}
export interface PortalSession {
    readonly id: number;
    /** @enum {string} */
    readonly role: "owner" | "administrator" | "member";
    readonly return_url: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
    /**
     * Format: date-time
     * @description The link signs in until then, 15 minutes from its creation.
     * @example 2030-01-31T07:00:00Z
     */
    readonly code_expires_at: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly used_at: string | null;
    /**
     * Format: date-time
     * @description The end of the session; null until used.
     * @example 2030-01-31T07:00:00Z
     */
    readonly expires_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly revoked_at: string | null;
}
export interface PreviewReminder {
    readonly schedule: components["schemas"]["ScheduleInput"];
    /**
     * @description How many runs.
     * @default 10
     */
    readonly count?: number;
}
export interface Process {
    readonly name: string;
    /**
     * @description `embedded`: inside another program.
     * @enum {string}
     */
    readonly kind: "server" | "worker" | "embedded";
    /** @description Whether it sends messages and calls webhooks: a server with `WORKER=separate` does not. */
    readonly works: boolean;
    /**
     * Format: date-time
     * @description Its last sign of life. It reports itself every 15 s; after 35 s without a report it has died or cannot reach the store.
     * @example 2030-01-31T07:00:00Z
     */
    readonly seen_at: string;
    /** @description Live numbers whose connections it has; null where processes do not share numbers. */
    readonly numbers_held: number | null;
    /** @description Of 256. */
    readonly shards_held: number | null;
}
export interface ProxyCheck {
    /** @description Whether the connection opened. */
    readonly ok: boolean;
    /**
     * @description Why it did not open. `no_remote`: the number connects nowhere, so nothing was tried.
     * @enum {string|null}
     */
    readonly error: "timeout" | "dns" | "tls" | "connection" | "credentials_refused" | "target_refused" | "unexpected_answer" | "proxy_unreadable" | "no_remote" | null;
    readonly duration_ms: number;
}
export interface QueuedEvent {
    /** @description `evt_` and 24 characters. */
    readonly event_id: string;
    /** @enum {string} */
    readonly type: "message.sent" | "message.failed" | "message.cancelled" | "message.expired" | "message.delivered" | "message.read" | "number.connected" | "number.disconnected" | "number.paused" | "number.resumed" | "number.gap" | "number.restricted" | "number.unrestricted" | "message.received" | "message.echo" | "message.edited" | "message.revoked" | "message.reaction" | "message.recovered" | "ping";
    /** @enum {boolean} */
    readonly queued: true;
}
export interface React {
    /** @description A person, or the number's owner on the phone. */
    readonly from: "owner" | {
        /**
         * @description E.164 with a leading +; spaces and dashes are taken out.
         * @example +15550001234
         */
        readonly phone?: string;
        /** @description WhatsApp's other name of an account. */
        readonly lid?: string;
        readonly username?: string;
        /** @description Telegram's id of an account. */
        readonly user_id?: string;
        /** @description What the person calls itself. */
        readonly name?: string;
    };
    /** @description Null takes the reaction back. */
    readonly emoji: string | null;
}
export interface ReadChat {
    readonly chat_id: number;
    readonly up_to: number;
}
export interface ReadMark {
    readonly chat_id: number;
    readonly up_to: number;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly at: string;
}
export interface ReceivedMessage {
    readonly id: number;
    /** @description From 1, one more with each message stored for the number; never used again. */
    readonly sequence: number;
    readonly number: {
        readonly id: number;
        readonly phone: string | null;
        /** @enum {string} */
        readonly platform: "whatsapp" | "telegram";
    };
    readonly chat: {
        readonly id: number;
        /** @enum {string} */
        readonly type: "person" | "group";
        readonly name: string | null;
    };
    /** @description The number's owner wrote it, on the phone or another device. */
    readonly from_me: boolean;
    /** @description The number itself when `from_me`. */
    readonly from: components["schemas"]["Person"];
    /** @enum {string} */
    readonly kind: "text" | "image" | "video" | "audio" | "voice" | "document" | "sticker" | "location" | "contact" | "poll" | "unsupported" | "unreadable";
    /** @description Text or caption; may be empty. */
    readonly text: string;
    /** @description What the kind has in addition to its text. */
    readonly content: {
        readonly latitude: number;
        readonly longitude: number;
        readonly name: string | null;
        readonly address: string | null;
        /**
         * @description Only of a text longer than 65,536 code points, which was cut.
         * @enum {boolean}
         */
        readonly truncated?: true;
    } | {
        readonly contacts: readonly {
            readonly name: string;
            readonly phones: readonly string[];
        }[];
        /**
         * @description Only of a text longer than 65,536 code points, which was cut.
         * @enum {boolean}
         */
        readonly truncated?: true;
    } | {
        readonly question: string;
        readonly options: readonly string[];
        /**
         * @description Only of a text longer than 65,536 code points, which was cut.
         * @enum {boolean}
         */
        readonly truncated?: true;
    } | {
        readonly type: string;
        /**
         * @description Only of a text longer than 65,536 code points, which was cut.
         * @enum {boolean}
         */
        readonly truncated?: true;
    } | {
        /**
         * @description Only of a text longer than 65,536 code points, which was cut.
         * @enum {boolean}
         */
        readonly truncated?: true;
    } | null;
    /** @description The file, as the message reports it until it is `ready`. */
    readonly media: {
        /**
         * @description `ready`: kept here. `remote`: fetched, or fetched once `url` is called. `full`: there was no room. `gone`: the platform has it no more. `refused`: it is not what the message says.
         * @enum {string}
         */
        readonly state: "ready" | "remote" | "too_large" | "full" | "gone" | "refused" | "off";
        readonly mime_type: string | null;
        /** @description Bytes. */
        readonly size: number | null;
        readonly file_name: string | null;
        readonly seconds: number | null;
        readonly sha256: string | null;
        /** @description Of a `ready` or `remote` file, for 26 hours; a call waits up to 30 s while it is fetched. */
        readonly url: string | null;
    } | null;
    /** @description The message that it quotes, by its id where it is known here. */
    readonly reply_to: {
        readonly received_message_id: number | null;
        readonly message_id: number | null;
        /** @description At most 200 code points. */
        readonly text: string;
    } | null;
    /** @description One for each person, the latest last; at most 50. */
    readonly reactions: readonly {
        /** @description The number itself for its owner. */
        readonly from: components["schemas"]["Person"];
        /**
         * Format: date-time
         * @description The author's time.
         * @example 2030-01-31T07:00:00Z
         */
        readonly at: string;
        readonly emoji: string;
    }[];
    /**
     * Format: date-time
     * @description The sender's time.
     * @example 2030-01-31T07:00:00Z
     */
    readonly sent_at: string;
    /**
     * Format: date-time
     * @description When it was stored here.
     * @example 2030-01-31T07:00:00Z
     */
    readonly received_at: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly edited_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly revoked_at: string | null;
}
export interface Receiver {
    readonly name: string;
    /** @description A webhook's or callback's URL may have any path below it. */
    readonly url: string;
    /** @description How many of its calls are kept, at most 100. */
    readonly calls: number;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly last_call_at: string | null;
    readonly answer: components["schemas"]["ReceiverAnswer"];
}
export interface ReceiverAnswer {
    /** @enum {number} */
    readonly status: 200 | 410 | 500;
    readonly body: string;
    /** @description It answers nothing. */
    readonly hangs: boolean;
}
export interface ReceiverCall {
    readonly id: number;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly at: string;
    /** @enum {string} */
    readonly method: "POST";
    /** @description With its query. */
    readonly path: string;
    readonly headers: readonly {
        readonly name: string;
        readonly value: string;
    }[];
    readonly body: string;
    readonly event_id: string | null;
    /** @description Of the event; null for a callback. */
    readonly type: string | null;
    /**
     * @description By the secrets of the receiver's endpoints, or of callbacks; `none`: without a signature.
     * @enum {string}
     */
    readonly signature: "valid" | "invalid" | "none";
    readonly answer: components["schemas"]["ReceiverAnswer"];
}
/** @description Exactly one of the keys. */
export interface Recipient {
    /**
     * @description E.164 with a leading +; spaces and dashes are taken out.
     * @example +15550001234
     */
    readonly phone?: string;
    /** @description Exact name of a WhatsApp group of the sending number; looked up when the message is sent. */
    readonly group?: string;
    /** @description Id of a saved contact. */
    readonly contact_id?: number;
    /**
     * @description A Telegram user: `@name`, a `t.me/name` link, or `tg:` and a user id.
     * @example @example
     */
    readonly username?: string;
}
export interface RecoverEvents {
    /**
     * @description ISO 8601 with an offset.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly since: string;
}
export interface RecoveredEvents {
    /** @description Events that are delivered again. */
    readonly queued: number;
    /** @description Whether others are left: ask again. */
    readonly more: boolean;
}
export interface RedeliverEvent {
    /** @description Id of an event that was sent to this endpoint. */
    readonly event_id: string;
}
export interface Registered {
    readonly phones: readonly string[] | null;
}
export interface Reminder {
    readonly id: number;
    readonly name: string;
    /** @description False while it is paused. */
    readonly active: boolean;
    readonly to: components["schemas"]["ReminderRecipient"];
    readonly from: number | null;
    readonly text: string;
    readonly media: components["schemas"]["Media"] | null;
    readonly schedule: {
        readonly cron: string;
        readonly timezone: string;
    };
    /**
     * Format: date-time
     * @description In the reminder's time zone, with its offset; null when paused.
     */
    readonly next_run_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
    /** @description The outcome of the latest run; null before the first. */
    readonly last_run: components["schemas"]["LastRun"] | null;
}
export interface ReminderPreview {
    readonly data: readonly {
        /**
         * Format: date-time
         * @description UTC, whole seconds.
         * @example 2030-01-31T07:00:00Z
         */
        readonly at: string;
        /** @description In the zone's time, with its offset. */
        readonly local: string;
        /**
         * @description `moved`: the clocks skip its time. `repeated`: they show it for the second time.
         * @enum {string|null}
         */
        readonly mark: "moved" | "repeated" | null;
    }[];
    /** @description Times of the pattern that the clocks skip and that have no run of their own. */
    readonly skipped: readonly {
        readonly local: string;
    }[];
    /** @description Clock changes until the last run, with the offsets before and after. */
    readonly clock_changes: readonly {
        /**
         * Format: date-time
         * @description UTC, whole seconds.
         * @example 2030-01-31T07:00:00Z
         */
        readonly at: string;
        readonly from: string;
        readonly to: string;
    }[];
}
export type ReminderRecipient = {
    readonly phone: string;
} | {
    readonly group: string;
} | {
    readonly contact_id: number;
} | {
    readonly username: string;
};
export interface ReminderRun {
    readonly id: number;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly due_at: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly ran_at: string;
    /**
     * @description `missed`: no process ran when it was due, and it was too late to catch up.
     * @enum {string}
     */
    readonly outcome: "accepted" | "refused" | "missed";
    /** @description The accepted message; null without one. */
    readonly message_id: number | null;
    /** @description Why the run was refused: a code of the error catalogue. */
    readonly code: string | null;
}
export interface RemoteId {
    /** @description The platform's id. */
    readonly remote_id: string;
}
/** @description Exactly one of the keys. */
export interface ReplyTo {
    /** @description Id of a received message. */
    readonly received_message_id?: number;
    /** @description Id of a message that was sent. */
    readonly message_id?: number;
}
export interface Restrict {
    /**
     * @description Until then people who never wrote to the number cannot be written to. Null, or left out: they can.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly new_chats_closed_until?: string | null;
    /** @description The cap of new chats. Null, or left out: none. */
    readonly limit?: number | null;
    /**
     * @description New chats of the period.
     * @default 0
     */
    readonly used?: number;
    /**
     * @description When `used` starts again.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly resets_at?: string | null;
}
export interface Restrictions {
    readonly number_id: number;
    /**
     * @description `new_chats_closed`: people who never wrote to the number cannot be written to. `unknown`: not asked yet, not connected, or refused; always for Telegram.
     * @enum {string}
     */
    readonly state: "none" | "new_chats_closed" | "unknown";
    /**
     * Format: date-time
     * @description End of `new_chats_closed`; null when unknown.
     * @example 2030-01-31T07:00:00Z
     */
    readonly until: string | null;
    /** @description WhatsApp's name of the reason; null for none. */
    readonly reason: string | null;
    /** @description How many new chats the number may open; null when unknown. */
    readonly new_chats: {
        /** @description Null without a cap. */
        readonly limit: number | null;
        readonly used: number;
        /**
         * Format: date-time
         * @description When `used` starts again; null when unknown.
         * @example 2030-01-31T07:00:00Z
         */
        readonly resets_at: string | null;
        /** @enum {string} */
        readonly warning: "none" | "first" | "second" | "capped";
    } | null;
    /**
     * Format: date-time
     * @description When WhatsApp was last asked or told of it; null for never.
     * @example 2030-01-31T07:00:00Z
     */
    readonly checked_at: string | null;
}
export interface ResumeCampaign {
    /** @description After a restore: the first row that had not left. */
    readonly from_row?: number | null;
}
export type RevokedKey = {
    readonly id: number;
    /** @enum {boolean} */
    readonly revoked: true;
} | components["schemas"]["Deleted"];
export interface RevokedPortalSession {
    readonly id: number;
    /** @enum {boolean} */
    readonly revoked: true;
}
export interface RowInput {
    readonly to: components["schemas"]["RowRecipient"];
    /** @description By the names of columns. */
    readonly values?: {
        readonly [key: string]: string;
    };
    /**
     * @description It is not taken on before; null for the campaign's.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly send_at?: string | null;
    /**
     * @description It is not sent after; null for the campaign's.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly expires_at?: string | null;
}
/** @description Exactly one of the keys. */
export interface RowRecipient {
    /**
     * @description E.164 with a leading +; without + where the campaign has a `default_country_code`.
     * @example +15550001234
     */
    readonly phone?: string;
    /** @description Exact name of a WhatsApp group. */
    readonly group?: string;
    /** @description Id of a saved contact. */
    readonly contact_id?: number;
    /**
     * @description A Telegram user: `@name`, a `t.me/name` link, or `tg:` and a user id.
     * @example @example
     */
    readonly username?: string;
}
export interface Scan {
    /**
     * @description E.164 with a leading +; a made-up one when left out.
     * @example +15550001234
     */
    readonly phone?: string;
}
export interface ScheduleInput {
    /**
     * @description Five fields: minute, hour, day of month, month, day of week.
     * @example 30 9 * * 1-5
     */
    readonly cron: string;
    /**
     * @description IANA name. Left out it is UTC; in a change of the schedule it stays what it was.
     * @example Europe/Berlin
     */
    readonly timezone?: string;
}
/** @description Exactly one of `ids` and `filter`. */
export type SelectHeld = {
    /** @description Held messages; either these or `filter`. */
    readonly ids?: readonly number[];
    /** @description Held messages and reminders; `{}` for all. */
    readonly filter?: components["schemas"]["HeldFilter"];
} & (unknown | unknown);
export interface SendBatch {
    readonly to: readonly components["schemas"]["SendRecipient"][];
    /** @description Id of the sending number. Without it the only connected number sends: a WhatsApp number, and a Telegram account when no WhatsApp number is connected. */
    readonly from?: number | null;
    /** @description The message, or the caption of its media; required without media. `*bold*`, `_italic_` and `~strike~` work. */
    readonly text?: string;
    readonly media?: components["schemas"]["MediaReference"] | null;
    /**
     * @description When to send, in the future. Default: at once.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly send_at?: string | null;
    /**
     * @description In the future and after the time to send: what was not sent by then becomes `expired`.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly expires_at?: string | null;
}
export interface SendMessage {
    readonly to: components["schemas"]["SendRecipient"];
    /** @description Id of the sending number. Without it the only connected number sends: a WhatsApp number, and a Telegram account when no WhatsApp number is connected. */
    readonly from?: number | null;
    /** @description The message, or the caption of its media; required without media. `*bold*`, `_italic_` and `~strike~` work. */
    readonly text?: string;
    readonly media?: components["schemas"]["MediaReference"] | null;
    /**
     * @description When to send, in the future. Default: at once.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly send_at?: string | null;
    /**
     * @description In the future and after the time to send: what was not sent by then becomes `expired`.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly expires_at?: string | null;
    /** @description The message of the same chat that it quotes. Unknown while conversations are off. */
    readonly reply_to?: components["schemas"]["ReplyTo"] | null;
}
/** @description Exactly one of the keys. */
export interface SendRecipient {
    /**
     * @description E.164 with a leading +; spaces and dashes are taken out.
     * @example +15550001234
     */
    readonly phone?: string;
    /** @description Exact name of a WhatsApp group of the sending number; looked up when the message is sent. */
    readonly group?: string;
    /** @description Id of a saved contact. */
    readonly contact_id?: number;
    /**
     * @description A Telegram user: `@name`, a `t.me/name` link, or `tg:` and a user id.
     * @example @example
     */
    readonly username?: string;
    /** @description Id of a chat of the sending number. Unknown while conversations are off. */
    readonly chat_id?: number;
}
export interface SendWorkspaceBatch {
    readonly to: readonly components["schemas"]["SendRecipient"][];
    /** @description Id of the sending number. Without it the only connected number sends: a WhatsApp number, and a Telegram account when no WhatsApp number is connected. */
    readonly from?: number | null;
    /** @description The message, or the caption of its media; required without media. `*bold*`, `_italic_` and `~strike~` work. */
    readonly text?: string;
    readonly media?: components["schemas"]["MediaReference"] | null;
    /**
     * @description When to send, in the future. Default: at once.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly send_at?: string | null;
    /**
     * @description In the future and after the time to send: what was not sent by then becomes `expired`.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly expires_at?: string | null;
    /** @description What you call it, such as the id of an order. No recipient, key or webhook sees it. */
    readonly reference?: string | null;
}
export interface SendWorkspaceMessage {
    readonly to: components["schemas"]["SendRecipient"];
    /** @description Id of the sending number. Without it the only connected number sends: a WhatsApp number, and a Telegram account when no WhatsApp number is connected. */
    readonly from?: number | null;
    /** @description The message, or the caption of its media; required without media. `*bold*`, `_italic_` and `~strike~` work. */
    readonly text?: string;
    readonly media?: components["schemas"]["MediaReference"] | null;
    /**
     * @description When to send, in the future. Default: at once.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly send_at?: string | null;
    /**
     * @description In the future and after the time to send: what was not sent by then becomes `expired`.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly expires_at?: string | null;
    /** @description The message of the same chat that it quotes. Unknown while conversations are off. */
    readonly reply_to?: components["schemas"]["ReplyTo"] | null;
    /** @description What you call it, such as the id of an order. No recipient, key or webhook sees it. */
    readonly reference?: string | null;
}
/** @description Messages leave only then. */
export interface SendingHours {
    /** @description Left out: all seven. */
    readonly days?: readonly ("mon" | "tue" | "wed" | "thu" | "fri" | "sat" | "sun")[];
    /**
     * @description On the clocks of `timezone`.
     * @example 09:00
     */
    readonly from: string;
    /**
     * @description On the clocks of `timezone`.
     * @example 18:00
     */
    readonly until: string;
}
export interface Sent {
    readonly id: number;
    readonly message_id: number | null;
    /**
     * @description Of the message; null when that is gone.
     * @enum {string|null}
     */
    readonly status: "queued" | "scheduled" | "sent" | "delivered" | "read" | "failed" | "cancelled" | "expired" | null;
    readonly number_id: number;
    readonly workspace_id: number;
    /** @description The phone with +, the group's name, or the username. */
    readonly to: string;
    readonly text: string;
    readonly media: {
        readonly file_name: string;
        readonly mime_type: string;
        readonly size: number;
        readonly sha256: string;
        /** @description The link of a stored file. */
        readonly url: string | null;
    } | null;
    /** @description The text of the message that it quotes; absent without one. */
    readonly quote?: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly at: string;
}
export interface ServiceFigures {
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly now: string;
    /** @description Whether the store answered. If not, its figures are null and `processes` is empty. */
    readonly store_up: boolean;
    /** @description Whether it answers, but later than after 2 seconds; `store_up` is false then. */
    readonly store_slow: boolean;
    readonly waiting: {
        readonly queued: number;
        readonly scheduled: number;
    } | null;
    readonly oldest_waiting_seconds: {
        readonly connected: number;
        readonly not_connected: number;
    } | null;
    readonly lane_lag_seconds: number | null;
    readonly lanes_in_flight: number | null;
    readonly leases_run_out: number | null;
    readonly webhook_deliveries_pending: number | null;
    readonly webhook_retries_pending: number | null;
    readonly numbers: readonly {
        /** @enum {string} */
        readonly platform: "whatsapp" | "telegram";
        /** @enum {string} */
        readonly status: "connected" | "connecting" | "disconnected";
        readonly count: number;
    }[] | null;
    /** @description Of the process that answers; null without a disk for files. */
    readonly disk: {
        readonly free_bytes: number;
        readonly reserve_bytes: number;
    } | null;
    /** @description How far the clock of the process that answers is ahead of the database's. */
    readonly clock_skew_seconds: number;
    readonly version: string;
    readonly processes: readonly components["schemas"]["Process"][];
}
export interface SetAway {
    /** @description True: the connection is lost. False: it is back. */
    readonly away: boolean;
}
export interface SetBehaviour {
    /**
     * @description `drop`: the next attempt reaches the remote server, then the connection breaks before the ack; after it `succeed`.
     * @default succeed
     * @enum {string}
     */
    readonly send?: "succeed" | "fail" | "hang" | "drop";
    /** @description The reason that a failed send gives. */
    readonly error_message?: string | null;
    readonly latency_ms?: number;
    /**
     * @description Exact names of the groups that the phone belongs to.
     * @default [
     *       "Team"
     *     ]
     */
    readonly groups?: readonly string[];
}
/** @description What is left out takes its default. */
export interface SetConversations {
    /**
     * @description Store what is written in groups too.
     * @default false
     */
    readonly groups?: boolean;
    /**
     * @description Days that received messages are kept.
     * @default 30
     */
    readonly retention_days?: number;
    /**
     * @description `on_arrival`: files are fetched at once. `on_demand`: when their link is called. `off`: never.
     * @default on_arrival
     * @enum {string}
     */
    readonly media?: "on_arrival" | "on_demand" | "off";
    /**
     * @description A larger file is not fetched.
     * @default 16777216
     */
    readonly max_file_bytes?: number;
    /**
     * @description Room for all received files together; not part of the plan's media storage.
     * @default 5368709120
     */
    readonly max_storage_bytes?: number;
    /**
     * @description Messages to new people wait while WhatsApp lets the number open no chats.
     * @default false
     */
    readonly hold_new_chats?: boolean;
}
export interface SetReceiverAnswer {
    /**
     * @description Status of the answer.
     * @default 200
     * @enum {number}
     */
    readonly status?: 200 | 410 | 500;
    /**
     * @description Content of the answer; the delivery log keeps its first KiB.
     * @default
     */
    readonly body?: string;
    /**
     * @description Answers nothing: the delivery ends by its own time limit.
     * @default false
     */
    readonly hangs?: boolean;
}
export interface SetRegistered {
    /** @description The phones that exist; null for the rule: all but those that end in 0000. */
    readonly phones: readonly string[] | null;
}
export type Settled = unknown;
/** @description The operator token, or the code of a link. */
export type SignIn = {
    readonly token?: string;
    readonly code?: string;
} & (unknown | unknown);
export interface SignInLink {
    /** @description Shown only here. */
    readonly url: string;
}
export interface SignedOut {
    /** @enum {boolean} */
    readonly signed_out: true;
}
export type Skipped = unknown;
export interface StoreRestored {
    /**
     * @description Highest id of any kind that is known outside.
     * @default 0
     */
    readonly above?: number;
    /**
     * @description Begin another epoch although this one has accepted messages.
     * @default false
     */
    readonly again?: boolean;
}
export interface TelegramCode {
    readonly code: string;
}
export interface TelegramLogin {
    /** @enum {string} */
    readonly state: "showing_qr" | "code_sent" | "password_needed" | "connected" | "failed" | "expired";
    /** @description Content of the QR code for the account's own app: a `tg://` link; else null. */
    readonly qr_url: string | null;
    /**
     * Format: date-time
     * @description When another link replaces it; null without one.
     * @example 2030-01-31T07:00:00Z
     */
    readonly qr_expires_at: string | null;
    /** @enum {string|null} */
    readonly code_sent_to: "app" | "sms" | "call" | "email" | null;
    /**
     * Format: date-time
     * @description When the login expires: ten minutes after it began.
     * @example 2030-01-31T07:00:00Z
     */
    readonly expires_at: string;
    /** @description Why it failed; else null. */
    readonly error: string | null;
}
export interface TelegramLoginRequest {
    /**
     * @description `qr`: the account's own app scans a code. `code`: Telegram sends one to the phone.
     * @enum {string}
     */
    readonly method: "qr" | "code";
    /**
     * @description Required with `code`: E.164 with a leading +. Unused with `qr`.
     * @example +15550001234
     */
    readonly phone?: string;
}
export interface TelegramPassword {
    readonly password: string;
}
export interface Tick {
    /** @enum {string} */
    readonly status: "delivered" | "read";
}
export interface Timeline {
    readonly message: components["schemas"]["WorkspaceMessage"];
    /** @description The campaign and its row that it was made of; else null. */
    readonly campaign: {
        readonly id: number;
        readonly row: number;
    } | null;
    /** @description Null once it waits no more, and where its number was removed. */
    readonly waiting: components["schemas"]["MessageWaiting"] | null;
    /** @description At most 200, oldest first. */
    readonly data: readonly components["schemas"]["TimelineEntry"][];
    /** @description True when older attempts and deliveries are left out. */
    readonly truncated: boolean;
}
export interface TimelineEntry {
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly at: string;
    /** @enum {string} */
    readonly type: "accepted" | "due" | "postponed" | "attempt_refused" | "attempt_interrupted" | "sent" | "failed" | "expired" | "cancelled" | "delivered" | "read" | "delivery";
    /** @description Of a delivery, from 1; else null. */
    readonly attempt: number | null;
    readonly event_id: string | null;
    /** @description The endpoint of a delivery; null for a callback, and for other entries. */
    readonly webhook_id: number | null;
    /** @description The receiver of a delivery; members see it without its query. */
    readonly url: string | null;
    readonly response_status: number | null;
    readonly duration_ms: number | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly next_attempt_at: string | null;
    readonly error: {
        readonly code: string;
        readonly message: string | null;
    } | null;
}
export interface Webhook {
    readonly id: number;
    readonly url: string;
    readonly description: string;
    readonly events: readonly ("message.sent" | "message.failed" | "message.cancelled" | "message.expired" | "message.delivered" | "message.read" | "number.connected" | "number.disconnected" | "number.paused" | "number.resumed" | "number.gap" | "number.restricted" | "number.unrestricted" | "message.received" | "message.echo" | "message.edited" | "message.revoked" | "message.reaction" | "message.recovered")[];
    /** @description Last four characters of the signing secret. */
    readonly secret_last4: string;
    /** @description False for a stopped endpoint. */
    readonly active: boolean;
    /**
     * @description Why it stopped; null while it runs.
     * @enum {string|null}
     */
    readonly disabled_reason: "delivery_failures" | "key_revoked" | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
    /** @description Outcome of the latest attempt. */
    readonly last_delivery: components["schemas"]["LastDelivery"] | null;
}
export interface WebhookWithSecret {
    readonly id: number;
    readonly url: string;
    readonly description: string;
    readonly events: readonly ("message.sent" | "message.failed" | "message.cancelled" | "message.expired" | "message.delivered" | "message.read" | "number.connected" | "number.disconnected" | "number.paused" | "number.resumed" | "number.gap" | "number.restricted" | "number.unrestricted" | "message.received" | "message.echo" | "message.edited" | "message.revoked" | "message.reaction" | "message.recovered")[];
    /** @description Last four characters of the signing secret. */
    readonly secret_last4: string;
    /** @description False for a stopped endpoint. */
    readonly active: boolean;
    /**
     * @description Why it stopped; null while it runs.
     * @enum {string|null}
     */
    readonly disabled_reason: "delivery_failures" | "key_revoked" | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
    /** @description Outcome of the latest attempt. */
    readonly last_delivery: components["schemas"]["LastDelivery"] | null;
    /** @description 64 hexadecimal characters that sign deliveries, shown only here. */
    readonly secret: string;
}
export interface Workspace {
    readonly id: number;
    readonly name: string;
    /** @description What version 1 clients send as `client_id`. */
    readonly client_id: number;
    readonly demo: boolean;
    readonly account_disabled: boolean;
    readonly api_v2_enabled: boolean;
    /** @description Null: no active plan, so nothing that a plan allows. */
    readonly plan: components["schemas"]["Plan"] | null;
    /** @description Days from the end of a message to its erasure; null for the service's own setting alone. The lower value applies. */
    readonly retention_days: number | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
}
export interface WorkspaceMessage {
    readonly id: number;
    /** @enum {string} */
    readonly status: "queued" | "scheduled" | "sent" | "delivered" | "read" | "failed" | "cancelled" | "expired";
    readonly from: {
        readonly id: number;
        /** @description Digits with country code, no +. While the message waits, the number's phone; afterwards the phone that it left from. Null while the number was never linked. */
        readonly phone: string | null;
        /** @enum {string} */
        readonly platform: "whatsapp" | "telegram";
    };
    readonly to: components["schemas"]["MessageRecipient"];
    /** @description The text, or the caption of the media. */
    readonly text: string;
    readonly media: components["schemas"]["Media"] | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly send_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly expires_at: string | null;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly created_at: string;
    /**
     * Format: date-time
     * @description UTC, whole seconds.
     * @example 2030-01-31T07:00:00Z
     */
    readonly sent_at: string | null;
    /** @description Why it failed, when `status` is `failed`. */
    readonly error: {
        /** @enum {string} */
        readonly code: "recipient_not_found" | "group_not_found" | "media_unavailable" | "send_failed" | "outcome_unknown";
        readonly message: string;
    } | null;
    /** @description The message that it quotes, as the command named it; absent without one. */
    readonly reply_to?: {
        readonly received_message_id: number;
    } | {
        readonly message_id: number;
    };
    /** @description What the sender calls it; null without one. Webhooks do not show it. */
    readonly reference: string | null;
    /** @description The id under which it leaves; null before it is drawn. */
    readonly transport_id: string | null;
}
export interface Write {
    /** @description A person, or the number's owner on the phone. */
    readonly from: "owner" | {
        /**
         * @description E.164 with a leading +; spaces and dashes are taken out.
         * @example +15550001234
         */
        readonly phone?: string;
        /** @description WhatsApp's other name of an account. */
        readonly lid?: string;
        readonly username?: string;
        /** @description Telegram's id of an account. */
        readonly user_id?: string;
        /** @description What the person calls itself. */
        readonly name?: string;
    };
    /**
     * @description E.164 with a leading +; spaces and dashes are taken out.
     * @example +15550001234
     */
    readonly to_phone?: string;
    /** @description Exact name of the group that it is written in. */
    readonly group?: string;
    readonly text?: string;
    /**
     * @description What it is. Default: `text`, `document` with a file.
     * @enum {string}
     */
    readonly kind?: "text" | "image" | "video" | "audio" | "voice" | "document" | "sticker" | "location" | "contact" | "poll" | "unsupported" | "unreadable";
    /** @description What the kind has beside its text. */
    readonly content?: {
        readonly latitude: number;
        readonly longitude: number;
        readonly name?: string | null;
        readonly address?: string | null;
    } | {
        readonly contacts: readonly {
            readonly name: string;
            readonly phones: readonly string[];
        }[];
    } | {
        readonly question: string;
        readonly options: readonly string[];
    } | {
        readonly type: string;
    } | null;
    /** @description A file that comes with it. */
    readonly media?: {
        readonly file_name?: string;
        /** @description The file, in base64: up to 1 MiB. */
        readonly data: string;
    };
    /** @description What it quotes. */
    readonly reply_to?: {
        /** @description Id of a received message. */
        readonly received_message_id?: number;
        /** @description What the number has sent. */
        readonly message_id?: number;
    };
    /** @description The platform's id, by which a repeat is recognised; drawn when left out. */
    readonly remote_id?: string;
    /**
     * @description ISO 8601 with an offset.
     * @example 2030-01-31T09:00:00+02:00
     */
    readonly sent_at?: string;
    /**
     * @description False: the number cannot read it, and asks for a copy. The same `remote_id` again is that copy.
     * @default true
     */
    readonly readable?: boolean;
}
export interface ListMessagesQuery {
    /** @description One or several, comma-separated. */
    readonly status?: readonly ("queued" | "scheduled" | "sent" | "delivered" | "read" | "failed" | "cancelled" | "expired")[];
    /** @description Id of the sending number. */
    readonly from?: number;
    /** @description The recipient's phone, E.164 with a leading +; write + as %2B. */
    readonly to?: string;
    /** @description Created then or later. ISO 8601 with an offset; write + as %2B. */
    readonly since?: string;
    /** @description Created before. ISO 8601 with an offset; write + as %2B. */
    readonly until?: string;
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListRemindersQuery {
    /** @description Only running or only paused ones. */
    readonly active?: boolean;
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListMediaQuery {
    readonly type?: "image" | "file";
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListNumberChecksQuery {
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListNumberCheckResultsQuery {
    /** @description One or several, comma-separated. */
    readonly status?: readonly ("pending" | "registered" | "not_registered" | "failed")[];
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListReceivedMessagesQuery {
    /** @description Id of the number that received them. */
    readonly number?: number;
    /** @description Id of the chat. */
    readonly chat_id?: number;
    readonly kind?: "text" | "image" | "video" | "audio" | "voice" | "document" | "sticker" | "location" | "contact" | "poll" | "unsupported" | "unreadable";
    /** @description Received then or later. ISO 8601 with an offset; write + as %2B. */
    readonly since?: string;
    /** @description Received before. ISO 8601 with an offset; write + as %2B. */
    readonly until?: string;
    /** @description Messages of `number` with a higher `sequence`, lowest first; 0 for all. */
    readonly after?: number;
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListChatsQuery {
    /** @description Id of the number. */
    readonly number?: number;
    /** @description The person's phone, E.164 with a leading +; write + as %2B. */
    readonly phone?: string;
    /** @description Whether it has messages of others that are not marked as read. */
    readonly unread?: boolean;
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListChatMessagesQuery {
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListPortalSessionsQuery {
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListWorkspacesQuery {
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListContactsQuery {
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface CreateWorkspaceWebhookQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ListDeliveriesQuery {
    /** @description One or several, comma-separated. */
    readonly type?: readonly ("message.sent" | "message.failed" | "message.cancelled" | "message.expired" | "message.delivered" | "message.read" | "number.connected" | "number.disconnected" | "number.paused" | "number.resumed" | "number.gap" | "number.restricted" | "number.unrestricted" | "message.received" | "message.echo" | "message.edited" | "message.revoked" | "message.reaction" | "message.recovered" | "ping")[];
    /** @description Only attempts that delivered nothing. */
    readonly failed?: true;
    /** @description Attempted then or later. ISO 8601 with an offset; write + as %2B. */
    readonly since?: string;
    /** @description Attempted before. ISO 8601 with an offset; write + as %2B. */
    readonly until?: string;
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface DeleteWorkspaceWebhookQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ListCallbackDeliveriesQuery {
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListReminderRunsQuery {
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface GetWorkspaceMessageQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ListHeldQuery {
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListWorkspaceMessagesQuery {
    /** @description One or several, comma-separated. */
    readonly status?: readonly ("queued" | "scheduled" | "sent" | "delivered" | "read" | "failed" | "cancelled" | "expired")[];
    /** @description Id of the sending number. */
    readonly from?: number;
    /** @description The recipient's phone, E.164 with a leading +; write + as %2B. */
    readonly to?: string;
    /** @description Created then or later. ISO 8601 with an offset; write + as %2B. */
    readonly since?: string;
    /** @description Created before. ISO 8601 with an offset; write + as %2B. */
    readonly until?: string;
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
    /** @description Messages with exactly that reference. */
    readonly reference?: string;
    /** @description Messages that failed with it. */
    readonly error?: "recipient_not_found" | "group_not_found" | "media_unavailable" | "send_failed" | "outcome_unknown";
    /** @description Looked for in the texts of the newest 50,000 messages that the other filters leave, upper and lower case alike. Not with `to`. */
    readonly text?: string;
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface SendWorkspaceMessageQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface SendWorkspaceBatchQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface LinkNumberQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ListWorkspaceRemindersQuery {
    /** @description Only running or only paused ones. */
    readonly active?: boolean;
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface CreateWorkspaceReminderQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface GetWorkspaceReminderQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface DeleteWorkspaceReminderQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface UpdateWorkspaceReminderQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ListWorkspaceMediaQuery {
    readonly type?: "image" | "file";
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface UploadWorkspaceMediaQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface GetWorkspaceMediaQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface DeleteWorkspaceMediaQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ListWorkspaceNumberChecksQuery {
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface CreateWorkspaceNumberCheckQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface GetWorkspaceNumberCheckQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ListWorkspaceNumberCheckResultsQuery {
    /** @description One or several, comma-separated. */
    readonly status?: readonly ("pending" | "registered" | "not_registered" | "failed")[];
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface RotateWorkspaceWebhookSecretQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface TestWorkspaceWebhookQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface StreamNewsQuery {
    /** @description The workspace. A portal's session reads its own. */
    readonly workspace_id: number;
    /** @description Whose session, where a browser holds both. */
    readonly session?: "operator" | "portal";
}
export interface ReadFiguresQuery {
    /** @description The span of time. */
    readonly range?: "24h" | "7d" | "30d";
    /** @description Which messages count. */
    readonly mode?: "live" | "test";
}
export interface ListSentQuery {
    /** @description Only what left this number's phone. */
    readonly number_id?: number;
    /** @description Only what left the workspace's phones. */
    readonly workspace_id?: number;
    /** @description Only copies to exactly this recipient. */
    readonly to?: string;
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
}
export interface ListCampaignsQuery {
    /** @description One or several, comma-separated. */
    readonly state?: readonly ("draft" | "scheduled" | "running" | "paused" | "done" | "stopped")[];
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface CreateCampaignQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface GetCampaignQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface DeleteCampaignQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface UpdateCampaignQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ListCampaignRowsQuery {
    /** @description One or several, comma-separated. */
    readonly status?: readonly ("pending" | "refused" | "skipped" | "queued" | "sent" | "delivered" | "read" | "failed" | "cancelled" | "expired")[];
    /** @description Only rows with an error of this code. */
    readonly code?: string;
    /** @description A phone: rows to it, and to contacts that had it when they were taken on. */
    readonly to?: string;
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface AddCampaignRowsQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
    /** @description Of a file: the column of the recipients. Default: `to`, else `phone`. */
    readonly to_column?: string;
}
export interface ClearCampaignRowsQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface GetCampaignRowQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface DownloadCampaignResultsQuery {
    /** @description One or several, comma-separated. */
    readonly status?: readonly ("pending" | "refused" | "skipped" | "queued" | "sent" | "delivered" | "read" | "failed" | "cancelled" | "expired")[];
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ForecastCampaignQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface StartCampaignQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface PauseCampaignQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface StopCampaignQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ResumeCampaignQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ListWorkspaceReceivedMessagesQuery {
    /** @description Id of the number that received them. */
    readonly number?: number;
    /** @description Id of the chat. */
    readonly chat_id?: number;
    readonly kind?: "text" | "image" | "video" | "audio" | "voice" | "document" | "sticker" | "location" | "contact" | "poll" | "unsupported" | "unreadable";
    /** @description Received then or later. ISO 8601 with an offset; write + as %2B. */
    readonly since?: string;
    /** @description Received before. ISO 8601 with an offset; write + as %2B. */
    readonly until?: string;
    /** @description Messages of `number` with a higher `sequence`, lowest first; 0 for all. */
    readonly after?: number;
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface GetWorkspaceReceivedMessageQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface DeleteWorkspaceReceivedMessageQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ListWorkspaceChatsQuery {
    /** @description Id of the number. */
    readonly number?: number;
    /** @description The person's phone, E.164 with a leading +; write + as %2B. */
    readonly phone?: string;
    /** @description Whether it has messages of others that are not marked as read. */
    readonly unread?: boolean;
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface GetWorkspaceChatQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface DeleteWorkspaceChatQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface ListWorkspaceChatMessagesQuery {
    /** @description Records of a page. */
    readonly limit?: number;
    /** @description From the answer with the page before; other filters must stay the same. */
    readonly cursor?: string;
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface MarkWorkspaceChatReadQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
export interface GetWorkspaceNumberRestrictionsQuery {
    /** @description Acts as a live or a test key. Default: `live`. */
    readonly mode?: "live" | "test";
}
