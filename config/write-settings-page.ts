import { writeFileSync } from 'node:fs';
import { settingsPage } from './describe-settings.ts';

writeFileSync(new URL('../docs/configuration.md', import.meta.url), settingsPage());
