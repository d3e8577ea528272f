import { describe, expect, it } from 'vitest';
import { EXPERIMENTS, type Experiment } from '../../../bench/in-context/experiments.ts';

const [fQfA, mQfA, fQmA, mQmA] = EXPERIMENTS;

/** The probabilities of an experiment's arms: on the queries meant for them, and on the others. */
function probabilities({ arms }: Experiment) {
  return Object.fromEntries(arms.map(({ id, optimal, suboptimal }) => [id, [optimal, suboptimal]]));
}

describe('the in-context-learning experiments are those of appendix C.1 of the paper', () => {
  it('Experiment 1: one query, three tools, 10 turns', () => {
    expect(probabilities(fQfA)).toEqual({ tool_A: [0.9, 0.55], tool_B: [0.9, 0.5], tool_C: [0.8, 0.6] });
    expect(fQfA.arms.map(({ name }) => name)).toEqual(['Data Analyzer', 'Text Formatter', 'Image Resizer']);
    expect(fQfA.queries.map(({ optimal }) => optimal)).toEqual(['tool_A']);
    expect(fQfA.phases.map(({ turns }) => turns)).toEqual([10]);
    expect(fQfA).toMatchObject({ trials: 5, maxTokens: 500 });
  });

  it('Experiment 2: six queries, four tools, 50 turns', () => {
    expect(probabilities(mQfA)).toEqual({
      tool_translate: [0.85, 0.5],
      tool_summarize: [0.75, 0.5],
      tool_calendar: [0.9, 0.55],
      tool_filesearch: [0.7, 0.6],
    });
    expect(mQfA.queries.map(({ optimal }) => optimal.replace('tool_', ''))).toEqual([
      'translate',
      'summarize',
      'calendar',
      'filesearch',
      'translate',
      'summarize',
    ]);
    expect(mQfA.phases).toMatchObject([{ turns: 50, queries: { length: 6 }, arms: { length: 4 } }]);
    expect(mQfA).toMatchObject({ trials: 5, maxTokens: 500 });
  });

  it('Experiment 3: one query, four phases of 7, 10, 10 and 8 turns', () => {
    expect(probabilities(fQmA)).toEqual({
      E3_Calculator: [0.7, 0.1],
      E3_SciCalculator: [0.9, 0.15],
      E3_UnitConverter: [0.8, 0.05],
      E3_Plotter: [0.6, 0.1],
      E3_SuperCalc: [0.95, 0.2],
    });
    expect(fQmA.queries).toMatchObject([{ optimal: 'E3_SuperCalc' }]);
    expect(fQmA.phases.map(({ turns, arms }) => [turns, ...arms])).toEqual([
      [7, 'E3_Calculator', 'E3_UnitConverter'],
      [10, 'E3_Calculator', 'E3_SciCalculator', 'E3_UnitConverter'],
      [10, 'E3_SciCalculator', 'E3_SuperCalc'],
      [8, 'E3_SuperCalc', 'E3_Plotter'],
    ]);
    expect(fQmA).toMatchObject({ trials: 7, maxTokens: 1500 });
  });

  it('Experiment 4: three phases of 8, 10 and 10 turns, each with its tools and queries', () => {
    expect(probabilities(mQmA)).toEqual({
      E4_Translate_EN_DE: [0.9, 0.1],
      E4_Summarize_News: [0.85, 0.15],
      E4_Weather_API: [0.92, 0.1],
      E4_Image_Resize: [0.8, 0.05],
      E4_Code_Python: [0.75, 0.2],
      E4_General_QA: [0.7, 0.3],
    });
    expect(mQmA.phases).toEqual([
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
    ]);
    expect(Object.fromEntries(mQmA.queries.map(({ id, optimal }) => [id, optimal]))).toEqual({
      Q_Translate_Hello_DE: 'E4_Translate_EN_DE',
      Q_Summarize_Article: 'E4_Summarize_News',
      Q_Weather_Berlin: 'E4_Weather_API',
      Q_Resize_Logo: 'E4_Image_Resize',
      Q_Python_Loop: 'E4_Code_Python',
      Q_Capital_France: 'E4_General_QA',
      Q_Weather_Tokyo: 'E4_Weather_API',
      Q_Python_Function: 'E4_Code_Python',
    });
    expect(mQmA).toMatchObject({ trials: 7, maxTokens: 1500 });
  });

  it.each(EXPERIMENTS)('$name names only tools and queries that it has', ({ arms, queries, phases }) => {
    const armIds = arms.map(({ id }) => id);
    const queryIds = queries.map(({ id }) => id);
    for (const phase of phases) {
      expect(armIds).toEqual(expect.arrayContaining([...phase.arms]));
      expect(queryIds).toEqual(expect.arrayContaining([...phase.queries]));
    }
    expect(armIds).toEqual(expect.arrayContaining(queries.map(({ optimal }) => optimal)));
  });
});
