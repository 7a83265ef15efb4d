/* SPDX-License-Identifier: MIT */
#include "report/view/page.h"

static int render(const struct view *view, const struct analysis *analysis,
		  const struct style *style, FILE *out, struct error *err)
{
	struct page page = { .out = out, .style = *style };

	(void)err;
	view->print(&page, analysis);
	return 0;
}

const struct renderer text_renderer = { .render = render };
