"use strict";
// The page on the server of `mockserver open`: each position of the slider has a checkpoint.
(() => {
  const checkpoints = JSON.parse(document.getElementById("checkpoints").textContent);
  const status = document.querySelector(".serve [role=status]");
  document.getElementById("serve").addEventListener("click", async () => {
    const position = Number(document.getElementById("at").value);
    status.textContent = "";
    try {
      const path = `checkpoints/${checkpoints[position]}/restore`;
      const response = await fetch(path, { method: "POST", headers: { "X-Mock-Request": "page" } });
      status.textContent = response.ok ? `The mock has the state after step ${position}.` : `Not served: ${(await response.json()).message}`;
    } catch (failure) {
      status.textContent = `Not served: ${failure.message}`;
    }
  });
})();
