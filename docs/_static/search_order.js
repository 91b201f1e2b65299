// The order of the site's search: guides, then lists and the pages of the project, then the reference, which has most names.
var Scorer = {
  score: ([page, , , , score]) => {
    const isReference = page.startsWith("reference/");
    const isList = ["architecture", "contributing", "choices", "conduct", "glossary", "performance"].includes(page);
    return score - (isReference ? 1000 : isList ? 500 : 0);
  },
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
