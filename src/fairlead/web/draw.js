// Draws each figure's chart from the plain data beside it. Nothing is loaded, nothing evaluated:
// `ast` has Vega interpret its expressions, so the page's policy need not allow eval.
const figures = [...document.querySelectorAll("figure[data-chart]")];
const drawn = figures.map(async (figure) => {
  const place = figure.querySelector(".chart");
  const spec = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
  try {
    await vegaEmbed(place, spec, { renderer: "svg", actions: false, ast: true, tooltip: { theme: "page" } });
    figure.dataset.chart = "drawn";
  } catch (error) {
    place.textContent = "This chart cannot be drawn here; the table below has its numbers.";
    console.error(error);
  }
});
Promise.all(drawn).then(() => { document.documentElement.dataset.charts = "done"; });
