/**
 * The in-context-learning experiments of the paper (Müller, Semantic Context for Tool Orchestration, section 5.1), with
 * the arms, probabilities and phases of its appendix C. Tools, queries and numbers are the paper's, word for word,
 * except in Experiment 4: there the paper states names and probabilities only, so its descriptions and the texts of
 * its queries were written for this bench, before anything was measured.
 */

/** A tool. */
export interface Arm {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Probability of success on the queries whose optimal arm this is. */
  readonly optimal: number;
  /** Probability of success on every other query. */
  readonly suboptimal: number;
}

export interface Query {
  readonly id: string;
  readonly text: string;
  /** Id of the arm that is meant for it, which may not be available. */
  readonly optimal: string;
}

/** A number of turns with the same tools; the query of each turn is drawn from `queries`. */
export interface Phase {
  readonly turns: number;
  /** Ids. */
  readonly arms: readonly string[];
  readonly queries: readonly string[];
}

export interface Experiment {
  readonly name: string;
  /** Whether queries and actions are fixed or moving, as the paper abbreviates it. */
  readonly kind: 'fQfA' | 'mQfA' | 'fQmA' | 'mQmA';
  readonly arms: readonly Arm[];
  readonly queries: readonly Query[];
  readonly phases: readonly Phase[];
  /** How often a chat model plays it, and how long its answers may be, in tokens. */
  readonly trials: number;
  readonly maxTokens: number;
}

const fQfA: Experiment = {
  name: 'Exp. 1',
  kind: 'fQfA',
  arms: [
    arm('tool_A', 'Data Analyzer', 'Processes numerical data arrays to find trends.', 0.9, 0.55),
    arm('tool_B', 'Text Formatter', 'Cleans and formats long text strings.', 0.9, 0.5),
    arm('tool_C', 'Image Resizer', 'Changes the dimensions of image files.', 0.8, 0.6),
  ],
  queries: [
    {
      id: 'q_analyze',
      text: 'I have a list of sales figures for the last quarter, can you help me understand the growth pattern?',
      optimal: 'tool_A',
    },
  ],
  phases: [{ turns: 10, arms: ['tool_A', 'tool_B', 'tool_C'], queries: ['q_analyze'] }],
  trials: 5,
  maxTokens: 500,
};

const mQfA: Experiment = {
  name: 'Exp. 2',
  kind: 'mQfA',
  arms: [
    arm(
      'tool_translate',
      'QuickTranslate',
      'Translates short text snippets between common languages.',
      0.85,
      0.5,
    ),
    arm('tool_summarize', 'BriefSummary', 'Creates a one-sentence summary of a paragraph.', 0.75, 0.5),
    arm('tool_calendar', 'EventScheduler', "Adds events to a user's primary calendar.", 0.9, 0.55),
    arm('tool_filesearch', 'DocFinder', 'Searches for local documents by keyword.', 0.7, 0.6),
  ],
  queries: [
    { id: 'q_trans_hello', text: "How do you say 'hello' in Spanish?", optimal: 'tool_translate' },
    {
      id: 'q_sum_paragraph',
      text: "Give me the gist of this: 'The quick brown fox jumps over the lazy dog every day.'",
      optimal: 'tool_summarize',
    },
    {
      id: 'q_sched_meeting',
      text: 'Schedule a meeting with Jane for tomorrow at 2 PM.',
      optimal: 'tool_calendar',
    },
    {
      id: 'q_find_report',
      text: 'Find the Q3 sales report document on my drive.',
      optimal: 'tool_filesearch',
    },
    { id: 'q_trans_bye', text: "What is 'goodbye' in French?", optimal: 'tool_translate' },
    {
      id: 'q_sum_news',
      text: "Briefly, what's this news about: 'Local team wins championship after a dramatic final.'?",
      optimal: 'tool_summarize',
    },
  ],
  phases: [
    {
      turns: 50,
      arms: ['tool_translate', 'tool_summarize', 'tool_calendar', 'tool_filesearch'],
      queries: [
        'q_trans_hello',
        'q_sum_paragraph',
        'q_sched_meeting',
        'q_find_report',
        'q_trans_bye',
        'q_sum_news',
      ],
    },
  ],
  trials: 5,
  maxTokens: 500,
};

const fQmA: Experiment = {
  name: 'Exp. 3',
  kind: 'fQmA',
  arms: [
    arm('E3_Calculator', 'Basic Calculator', 'Performs simple arithmetic (+, -, *, /).', 0.7, 0.1),
    arm(
      'E3_SciCalculator',
      'Scientific Calculator',
      'Advanced math functions: exponents, logs, trig.',
      0.9,
      0.15,
    ),
    arm('E3_UnitConverter', 'Unit Converter', 'Converts units (e.g., kg to lbs, meters to feet).', 0.8, 0.05),
    arm('E3_Plotter', 'Data Plotter', 'Generates simple plots from data.', 0.6, 0.1),
    arm(
      'E3_SuperCalc',
      'SuperMath Solver',
      'Handles complex algebra, calculus, and symbolic math. The ultimate math tool.',
      0.95,
      0.2,
    ),
  ],
  queries: [
    {
      id: 'Q_ComplexMath',
      text: 'Solve the integral of x^2 * sin(x) from 0 to π, and also find the square root of 1764.',
      optimal: 'E3_SuperCalc',
    },
  ],
  phases: [
    { turns: 7, arms: ['E3_Calculator', 'E3_UnitConverter'], queries: ['Q_ComplexMath'] },
    {
      turns: 10,
      arms: ['E3_Calculator', 'E3_SciCalculator', 'E3_UnitConverter'],
      queries: ['Q_ComplexMath'],
    },
    { turns: 10, arms: ['E3_SciCalculator', 'E3_SuperCalc'], queries: ['Q_ComplexMath'] },
    { turns: 8, arms: ['E3_SuperCalc', 'E3_Plotter'], queries: ['Q_ComplexMath'] },
  ],
  trials: 7,
  maxTokens: 1500,
};

const mQmA: Experiment = {
  name: 'Exp. 4',
  kind: 'mQmA',
  arms: [
    arm('E4_Translate_EN_DE', 'German Translator', 'Translates English text into German.', 0.9, 0.1),
    arm('E4_Summarize_News', 'News Summarizer', 'Summarizes news articles in a few sentences.', 0.85, 0.15),
    arm(
      'E4_Weather_API',
      'City Weather',
      'Gives the current weather and the forecast for a city.',
      0.92,
      0.1,
    ),
    arm('E4_Image_Resize', 'Image Resizer', 'Changes the dimensions of image files.', 0.8, 0.05),
    arm('E4_Code_Python', 'Python Code Assistant', 'Writes and explains Python code.', 0.75, 0.2),
    arm('E4_General_QA', 'Knowledge Bot', 'Answers general knowledge questions.', 0.7, 0.3),
  ],
  queries: [
    {
      id: 'Q_Translate_Hello_DE',
      text: "How do you say 'hello' in German?",
      optimal: 'E4_Translate_EN_DE',
    },
    {
      id: 'Q_Summarize_Article',
      text: "Summarize this article for me: 'The city council voted on Tuesday to extend the tram line to the harbour.'",
      optimal: 'E4_Summarize_News',
    },
    { id: 'Q_Weather_Berlin', text: 'What is the weather like in Berlin today?', optimal: 'E4_Weather_API' },
    { id: 'Q_Resize_Logo', text: 'Resize our logo to 200 by 200 pixels.', optimal: 'E4_Image_Resize' },
    {
      id: 'Q_Python_Loop',
      text: 'Write a Python loop that prints the numbers from 1 to 10.',
      optimal: 'E4_Code_Python',
    },
    { id: 'Q_Capital_France', text: 'What is the capital of France?', optimal: 'E4_General_QA' },
    { id: 'Q_Weather_Tokyo', text: 'Will it rain in Tokyo tomorrow?', optimal: 'E4_Weather_API' },
    {
      id: 'Q_Python_Function',
      text: 'Write a Python function that reverses a string.',
      optimal: 'E4_Code_Python',
    },
  ],
  phases: [
    {
      turns: 8,
      arms: ['E4_Translate_EN_DE', 'E4_Summarize_News', 'E4_General_QA'],
      queries: ['Q_Translate_Hello_DE', 'Q_Summarize_Article', 'Q_Capital_France'],
    },
    {
      turns: 10,
      arms: ['E4_Weather_API', 'E4_Image_Resize', 'E4_General_QA'],
      queries: ['Q_Weather_Berlin', 'Q_Resize_Logo', 'Q_Capital_France', 'Q_Weather_Tokyo'],
    },
    {
      turns: 10,
      arms: ['E4_Code_Python', 'E4_General_QA', 'E4_Weather_API'],
      queries: ['Q_Python_Loop', 'Q_Capital_France', 'Q_Weather_Tokyo', 'Q_Python_Function'],
    },
  ],
  trials: 7,
  maxTokens: 1500,
};

export const EXPERIMENTS: readonly Experiment[] = [fQfA, mQfA, fQmA, mQmA];

function arm(id: string, name: string, description: string, optimal: number, suboptimal: number): Arm {
  return { id, name, description, optimal, suboptimal };
}
