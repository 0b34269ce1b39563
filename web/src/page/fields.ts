/** The settings of the page, each with its control and the place of its key in a scenario. */

/** Table of a scenario file, or `page` for what only the page knows. */
export type Table = '' | 'workload' | 'server' | 'output' | 'page';

interface Named {
  key: string;
  table: Table;
  label: string;
  unit?: string;
  help?: string;
  group: Group;
  /** Whether a scenario has its key even with the initial value, which is not the library's or is worth reading. */
  always?: boolean;
  /** Whether the setting has a meaning beside others. */
  shown?: (settings: Settings) => boolean;
}

/** A number, with a slider where it has a range. */
export interface NumberField extends Named {
  kind: 'number';
  min: number;
  max: number;
  whole?: boolean;
  /** The value that the page takes, or that the library takes if the page writes none. */
  initial?: number;
  /** Ends of a slider; it is logarithmic from a positive end on. */
  slider?: [number, number];
}

/** A length in tokens or a distribution of lengths, as `uniform:50..400`. */
export interface LengthField extends Named {
  kind: 'length';
  initial: string;
  slider: [number, number];
}

export interface ChoiceField extends Named {
  kind: 'choice';
  /** Values with their labels. The empty value leaves the key out. */
  options: [value: string, label: string][];
  initial: string;
  /** Whether the values are numbers in a scenario. */
  numeric?: boolean;
}

export interface TextField extends Named {
  kind: 'text';
  initial: string;
  suggestions?: string[];
  lines?: number;
  /** Whether a scenario has its words as a list. */
  isList?: boolean;
}

export interface SwitchField extends Named {
  kind: 'switch';
}

/** Some of several names. */
export interface NamesField extends Named {
  kind: 'names';
  options: string[];
}

export type Field = NumberField | LengthField | ChoiceField | TextField | SwitchField | NamesField;
export type Value = string | number | boolean | string[];
/** The settings that differ from the initial ones, by key. */
export type Settings = Record<string, Value>;

export const GROUPS = ['Model', 'Servers', 'Load', 'Limits', 'More settings'] as const;
export type Group = (typeof GROUPS)[number];

/** Names that the library knows. */
export interface Catalogue {
  models: string[];
  gpus: string[];
  engines: string[];
}

const DEGREES: [string, string][] = ['1', '2', '4', '8'].map((degree) => [degree, degree]);
const DTYPES = ['bf16', 'fp8', 'fp8_block', 'nvfp4', 'mxfp4', 'mxfp4_mxfp8', 'int4'];

const same = (names: string[]): [string, string][] => names.map((name) => [name, name]);
const hasUsers = (settings: Settings): boolean => settings.load === 'users';
const hasDrafts = (settings: Settings): boolean => typeof settings.draft_tokens === 'number';

/** Returns the settings in the order of the form. */
export function fields(catalogue: Catalogue): Field[] {
  return [
    { key: 'model', always: true, table: '', group: 'Model', kind: 'text', label: 'Model', initial: 'llama-3.1-8b',
      suggestions: catalogue.models,
      help: 'A name of the list, or a Hugging Face id.' },
    { key: 'config', table: 'page', group: 'Model', kind: 'text', label: 'config.json', initial: '', lines: 4,
      help: 'Replaces the model above. Empty for none.', shown: (settings) => settings.config !== undefined },
    { key: 'dtype', table: '', group: 'Model', kind: 'choice', label: 'Weights', initial: '',
      options: [['', 'as published'], ...same(DTYPES)] },
    { key: 'kv_dtype', table: '', group: 'Model', kind: 'choice', label: 'KV cache', initial: '',
      options: [['', 'as published'], ...same(['bf16', 'fp8'])] },
    { key: 'gpu', always: true, table: '', group: 'Servers', kind: 'choice', label: 'GPU', initial: 'h100',
      options: same(catalogue.gpus) },
    { key: 'tp', table: '', group: 'Servers', kind: 'choice', label: 'Tensor parallel', initial: '1', options: DEGREES,
      numeric: true },
    { key: 'pp', table: '', group: 'Servers', kind: 'choice', label: 'Pipeline stages', initial: '1', options: DEGREES,
      numeric: true },
    { key: 'dp', table: '', group: 'Servers', kind: 'choice', label: 'Data parallel', initial: '1', options: DEGREES,
      numeric: true,
      help: 'Ranks of a model with experts.' },
    { key: 'expert_parallel', table: '', group: 'Servers', kind: 'switch', label: 'Expert parallel',
      help: 'Each GPU holds whole experts, of a model with experts.' },
    { key: 'replicas', table: 'server', group: 'Servers', kind: 'number', label: 'Servers', min: 1, max: 1000,
      whole: true, initial: 1, slider: [1, 16],
      help: 'Each divides the model as above.' },
    { key: 'load', table: 'page', group: 'Load', kind: 'choice', label: 'Requests', initial: 'rate',
      options: [['rate', 'arrive at a rate'], ['users', 'from users who wait for each answer']] },
    { key: 'rate', always: true, table: 'workload', group: 'Load', kind: 'number', label: 'Rate', unit: 'requests/s',
      min: 1e-3, max: 1e5, initial: 10,
      slider: [0.1, 200], shown: (settings) => !hasUsers(settings) },
    { key: 'users', always: true, table: 'workload', group: 'Load', kind: 'number', label: 'Users', min: 1, max: 1e5,
      whole: true, initial: 32, slider: [1, 1024],
      shown: hasUsers },
    { key: 'prompt', always: true, table: 'workload', group: 'Load', kind: 'length', label: 'Prompt', unit: 'tokens',
      initial: '512', slider: [16, 32_768],
      help: 'Also a distribution: uniform:100..900, lognormal:300,0.6.' },
    { key: 'output', always: true, table: 'workload', group: 'Load', kind: 'length', label: 'Output', unit: 'tokens',
      initial: '256', slider: [1, 8192] },
    { key: 'prefix_hit_rate', table: 'workload', group: 'Load', kind: 'number',
      label: 'Prompt found in the prefix cache', unit: 'share', min: 0, max: 1,
      initial: 0, slider: [0, 0.95] },
    { key: 'requests', always: true, table: 'workload', group: 'Load', kind: 'number', label: 'Requests of a run',
      min: 1, max: 100_000, whole: true, initial: 1000,
      slider: [100, 10_000] },
    { key: 'ttft', table: 'page', group: 'Limits', kind: 'number', label: 'p99 of TTFT at most', unit: 'ms', min: 1,
      max: 1e7, initial: 500, slider: [50, 10_000],
      help: 'Time to the first token, queue included.' },
    { key: 'tpot', table: 'page', group: 'Limits', kind: 'number', label: 'p99 of TPOT at most', unit: 'ms', min: 0.1,
      max: 1e6, initial: 50, slider: [5, 200],
      help: 'Time per token after the first.' },
    { key: 'max_gpus', table: 'page', group: 'Limits', kind: 'number', label: 'GPUs at most', min: 1, max: 8,
      whole: true, initial: 8, slider: [1, 8],
      help: 'Of the plan and of the front.' },
    { key: 'gpus', table: 'page', group: 'Limits', kind: 'names', label: 'GPUs to choose from, beside the one above',
      options: catalogue.gpus },
    { key: 'price', table: 'output', group: 'Limits', kind: 'text', label: 'Prices of GPUs', unit: 'USD an hour',
      initial: '', isList: true,
      help: 'In place of list prices: h100=2.10 b300=5.' },
    { key: 'engine', table: '', group: 'More settings', kind: 'choice', label: 'Engine', initial: '',
      options: [['', 'default'], ...same(catalogue.engines)] },
    { key: 'max_num_seqs', table: 'server', group: 'More settings', kind: 'number', label: 'Requests at once, at most',
      min: 1, max: 1e5, whole: true },
    { key: 'max_num_batched_tokens', table: 'server', group: 'More settings', kind: 'number',
      label: 'Tokens a step, at most', min: 1, max: 1e6, whole: true },
    { key: 'max_model_len', table: 'server', group: 'More settings', kind: 'number', label: 'Tokens a request, at most',
      min: 1, max: 1e8, whole: true },
    { key: 'gpu_memory_utilization', table: 'server', group: 'More settings', kind: 'number',
      label: 'Share of GPU memory', min: 0.01, max: 1 },
    { key: 'draft_tokens', table: 'server', group: 'More settings', kind: 'number', label: 'Draft tokens', min: 1,
      max: 64, whole: true },
    { key: 'draft_model', table: 'server', group: 'More settings', kind: 'text', label: 'Draft model', initial: '',
      suggestions: ['mtp', 'ngram', ...catalogue.models],
      shown: hasDrafts },
    { key: 'acceptance', table: 'server', group: 'More settings', kind: 'number', label: 'Acceptance of a draft',
      min: 0, max: 1, shown: hasDrafts },
    { key: 'arrival', table: 'workload', group: 'More settings', kind: 'choice', label: 'Arrivals', initial: '',
      options: [['', 'Poisson'], ['constant', 'constant']],
      shown: (settings) => !hasUsers(settings) },
    { key: 'seed', table: 'workload', group: 'More settings', kind: 'number', label: 'Seed', min: 0, max: 2 ** 32 - 1,
      whole: true },
    { key: 'other', table: 'page', group: 'More settings', kind: 'text', label: 'Other keys of a scenario, in TOML',
      initial: '', lines: 4,
      help: 'They win over the controls above: [server] and in the next line watermark = 0.02.' },
  ];
}

/** Returns a setting, or its initial value. */
export function setting(settings: Settings, field: Field): Value | undefined {
  const given = settings[field.key];
  return given ?? ('initial' in field ? field.initial : undefined);
}
