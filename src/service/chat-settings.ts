import type { Settings } from '../../config/settings.ts';
import type { ChatSettings } from '../models/http/chat-endpoint.ts';

/** The chat endpoint that is configured; null if there is none. @throws Error when its model is not named. */
export function chatSettings(settings: Settings): ChatSettings | null {
  const { chatUrl, chatModel, chatKey, chatTimeoutMs, allowPrivateHosts } = settings;
  if (chatUrl === undefined) return null;
  if (chatModel === undefined) {
    throw new Error('BANDOLIER_CHAT_URL is set, but not which model to ask there. Set BANDOLIER_CHAT_MODEL.');
  }
  return {
    url: chatUrl,
    model: chatModel,
    key: chatKey,
    timeoutMs: chatTimeoutMs,
    allowPrivate: allowPrivateHosts,
  };
}
